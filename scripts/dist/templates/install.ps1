# Installs scorpiox-code @VERSION@ for this user. It verifies the signature of the release's sums with the public
# key below, and the sum of the archive. If a check fails or cannot be made, it installs nothing.
#
# usage: install.ps1 [-To FOLDER] [-From ADDRESS]
#   -To FOLDER      folder of the program (default: Programs\scorpiox-code in the local application data)
#   -From ADDRESS   mirror of the release: an https:// address, or a folder
param([string]$To = '', [string]$From = '@DOWNLOADS@')

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$Version = '@VERSION@'
$PublicKey = '@PUBLIC_KEY@'
# Processors with an archive, as Windows names them, and the file names of the archives.
$Archives = @{
@ARCHIVES@
}

function Stop-Installation([string]$Why) { throw "scorpiox-code: $Why; nothing was installed" }

# Returns the path of a program that is in PATH, or at one of these places.
function Find-Program([string]$Name, [string[]]$Places) {
    $Found = Get-Command -Name $Name -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    if ($Found) { return $Found.Path }
    foreach ($Place in $Places) { if (Test-Path -LiteralPath $Place) { return $Place } }
    return $null
}

# Downloads a file of the release into the folder $Work.
function Get-File([string]$File, [string]$Work) {
    if ($From -like '*://*' -and $From -notlike 'https://*') { Stop-Installation "$From is not an https:// address" }
    $Into = Join-Path $Work $File
    try {
        if ($From -like 'https://*') {
            Invoke-WebRequest -UseBasicParsing -Uri "$From/$File" -OutFile $Into
        } else {
            Copy-Item -LiteralPath (Join-Path $From $File) -Destination $Into
        }
    } catch {
        Stop-Installation "$From/$File cannot be read: $($_.Exception.Message)"
    }
}

function Test-Signature([string]$OpenSsl, [string]$Work, [byte[]]$Message, [byte[]]$Signature) {
    [IO.File]::WriteAllBytes("$Work\message", $Message)
    [IO.File]::WriteAllBytes("$Work\signature", $Signature)
    & $OpenSsl pkeyutl -verify -pubin -keyform DER -inkey "$Work\key.der" -rawin -in "$Work\message" -sigfile "$Work\signature" | Out-Null
    return ($LASTEXITCODE -eq 0)
}

# Verifies as minisign does (https://jedisct1.github.io/minisign/#signature-format). Returns the signed comment, or
# $null if a signature is not valid.
function Get-CommentWithOpenSsl([string]$OpenSsl, [string]$Work) {
    $Lines = [IO.File]::ReadAllLines("$Work\SHA256SUMS.minisig")
    $Key = [Convert]::FromBase64String($PublicKey)
    $Signature = [Convert]::FromBase64String($Lines[1])
    $OfComment = [Convert]::FromBase64String($Lines[3])
    if ($Key.Length -ne 42 -or $Signature.Length -ne 74 -or $OfComment.Length -ne 64) { return $null }
    if ([BitConverter]::ToString($Key, 2, 8) -ne [BitConverter]::ToString($Signature, 2, 8)) { return $null }
    # Precedes an Ed25519 key in DER (RFC 8410).
    [byte[]]$Prefix = 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00
    [IO.File]::WriteAllBytes("$Work\key.der", [byte[]]($Prefix + $Key[10..41]))
    [byte[]]$OfSums = $Signature[10..73]
    # "Ed" signs the file, and "ED" its BLAKE2b-512.
    if ($Signature[0] -ne 0x45) { return $null }
    if ($Signature[1] -eq 0x64) {
        $Message = [IO.File]::ReadAllBytes("$Work\SHA256SUMS")
    } elseif ($Signature[1] -eq 0x44) {
        & $OpenSsl dgst '-blake2b512' -binary -out "$Work\digest" "$Work\SHA256SUMS" | Out-Null
        if ($LASTEXITCODE -ne 0) { return $null }
        $Message = [IO.File]::ReadAllBytes("$Work\digest")
    } else {
        return $null
    }
    if (-not (Test-Signature $OpenSsl $Work $Message $OfSums)) { return $null }
    $Start = 'trusted comment: '
    if (-not $Lines[2].StartsWith($Start, [StringComparison]::Ordinal)) { return $null }
    $Comment = $Lines[2].Substring($Start.Length)
    $Signed = [byte[]]($OfSums + [Text.Encoding]::UTF8.GetBytes($Comment))
    if (-not (Test-Signature $OpenSsl $Work $Signed $OfComment)) { return $null }
    return $Comment
}

# Stops unless the release's key signed the sums, for this version.
function Assert-Sums([string]$Work) {
    $Minisign = Find-Program 'minisign' @()
    $OpenSsl = Find-Program 'openssl' @("$env:ProgramFiles\Git\usr\bin\openssl.exe", "$env:ProgramFiles\Git\mingw64\bin\openssl.exe")
    if ($Minisign) {
        $Comment = & $Minisign -V -Q -P $PublicKey -m "$Work\SHA256SUMS" -x "$Work\SHA256SUMS.minisig"
        if ($LASTEXITCODE -ne 0) { $Comment = $null }
    } elseif ($OpenSsl) {
        try { $Comment = Get-CommentWithOpenSsl $OpenSsl $Work } catch { $Comment = $null }
    } else {
        Stop-Installation 'it needs minisign, or the openssl 3 of Git for Windows, to verify the signature'
    }
    if (-not $Comment) { Stop-Installation "the signature of $From/SHA256SUMS is not valid" }
    if (-not ([string]$Comment).StartsWith("scorpiox-code $Version sha256=", [StringComparison]::Ordinal)) {
        Stop-Installation "the signature of $From/SHA256SUMS is for '$Comment', and not for scorpiox-code $Version"
    }
}

# Stops unless the file has the sum that was signed.
function Assert-Sum([string]$File, [string]$Work) {
    $Sums = @(Get-Content -LiteralPath "$Work\SHA256SUMS" | Where-Object { $_.Length -gt 66 -and $_.Substring(66) -ceq $File })
    if ($Sums.Count -ne 1) { Stop-Installation "the release has no $File" }
    $Actual = (Get-FileHash -LiteralPath "$Work\$File" -Algorithm SHA256).Hash
    if ($Actual -ne $Sums[0].Substring(0, 64)) { Stop-Installation "$File does not have its signed sum" }
}

function Install-Program {
    if (-not $PublicKey) { Stop-Installation 'this installer was made without a public key, and can verify nothing' }
    $Processor = $env:PROCESSOR_ARCHITECTURE
    if ($env:PROCESSOR_ARCHITEW6432) { $Processor = $env:PROCESSOR_ARCHITEW6432 }
    if (-not $Archives.ContainsKey($Processor)) { Stop-Installation "there is no program for Windows on $Processor" }
    $Archive = $Archives[$Processor]
    $Into = $To
    if (-not $Into) { $Into = Join-Path $env:LOCALAPPDATA 'Programs\scorpiox-code' }
    $Work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    New-Item -ItemType Directory -Path $Work | Out-Null
    try {
        [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
        foreach ($File in 'SHA256SUMS', 'SHA256SUMS.minisig') { Get-File $File $Work }
        Assert-Sums $Work
        Get-File $Archive $Work
        Assert-Sum $Archive $Work
        Expand-Archive -LiteralPath "$Work\$Archive" -DestinationPath "$Work\unpacked"
        $Said = & "$Work\unpacked\scorpiox-code.exe" --version
        if ($LASTEXITCODE -ne 0 -or $Said -ne "scorpiox-code $Version") { Stop-Installation 'the program does not run here' }
        New-Item -ItemType Directory -Force -Path $Into | Out-Null
        Move-Item -Force -LiteralPath "$Work\unpacked\scorpiox-code.exe" -Destination (Join-Path $Into 'scorpiox-code.exe')
    } finally {
        Remove-Item -Recurse -Force -LiteralPath $Work -ErrorAction SilentlyContinue
    }
    $Program = Join-Path $Into 'scorpiox-code.exe'
    Write-Output "installed $Program $Version; next: $Program doctor"
    if (($env:PATH -split ';') -notcontains $Into) { Write-Output "$Into is not in PATH" }
}

# Stands last, so that a part of this file does nothing.
try {
    Install-Program
} catch {
    # With Invoke-Expression, `exit` would end the person's shell.
    if (-not $PSCommandPath) { throw }
    [Console]::Error.WriteLine($_.Exception.Message)
    exit 1
}
