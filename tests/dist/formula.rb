# Loads a formula without Homebrew, and installs from an unpacked archive into a folder: formula.rb FORMULA ARCHIVE INTO
# Defines only the words that formulas use here (https://docs.brew.sh/Formula-Cookbook).
require "fileutils"
require "digest"
require "tmpdir"

formula, archive, into = ARGV

class Folder
  def initialize(path) = @path = path
  def to_s = @path
  def install(*files)
    FileUtils.mkdir_p(@path)
    files.flatten.each do |file|
      (file.is_a?(Hash) ? file : { file => File.basename(file) }).each { |from, to| FileUtils.cp_r(from, File.join(@path, to)) }
    end
  end
end

class Formula
  class << self
    attr_reader :found
    %i[desc homepage license test].each { |word| define_method(word) { |*_, **_| nil } }
    def version(text = nil) = text ? @version = text : @version
    # The formula's blocks for this system: Linux on this processor.
    def on_linux = yield
    def on_macos = nil
    def on_intel = (yield if RUBY_PLATFORM.start_with?("x86_64"))
    def on_arm = (yield if RUBY_PLATFORM.start_with?("aarch64"))
    def url(text) = @found = { url: text }
    def sha256(text) = @found[:sha256] = text
  end
  %i[bin bash_completion zsh_completion fish_completion man1 doc].each do |word|
    define_method(word) { Folder.new(File.join(ARGV[2], word.to_s)) }
  end
end

load File.expand_path(formula)
found = ScorpioxCode.found
abort "the formula names #{found[:url]}" unless File.basename(found[:url]) == File.basename(archive)
abort "the sum differs" unless found[:sha256] == Digest::SHA256.file(archive).hexdigest
Dir.mktmpdir do |folder|
  system("tar", "-xzf", File.expand_path(archive), "-C", folder, exception: true)
  # Homebrew enters the only folder of an archive.
  Dir.chdir(Dir.children(folder).then { |(top)| File.join(folder, top) }) { ScorpioxCode.new.install }
end
said = IO.popen([File.join(into, "bin", "scorpiox-code"), "--version"], &:read)
abort "the program says #{said}" unless said.include?(ScorpioxCode.version)
