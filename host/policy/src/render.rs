//! Renders the complete policy for the user, as a policy file in which each line names its source.

use crate::access::{render_access, render_http, render_limits, render_workspace};
use crate::document::{Page, quote, show_size};
use crate::rule::{Source, Sourced};

use crate::Policy;
use crate::audit::AuditPolicy;
use crate::call_rules::{CallRule, DEFAULT_WITHIN, Then, show_within};
use crate::circumstances;
use crate::circumstances::lists;
use crate::files::FilesPolicy;
use crate::plugins::{CredentialsFrom, PluginsPolicy, RegistryLogin, SecretFrom};
use crate::profile::{Network, Profile};
use crate::restrictions::Restriction;
use crate::rules::Rules;
use crate::search::EnginePolicy;
use crate::shell::ShellPolicy;
use crate::store::StorePolicy;
use crate::web::WebPolicy;

/// Returns the text for `policy show`. It parses as a policy.toml with the same meaning.
pub fn render(policy: &Policy) -> String {
    let mut page = Page::default();
    page.text.push_str("version = 1\n");
    if policy.last_good.value {
        page.line("last_good = true", policy.last_good.source);
    }
    shell(&mut page, &policy.shell);
    for profile in policy.shell.profiles.values() {
        profile_lines(&mut page, profile);
    }
    web(&mut page, &policy.web);
    files(&mut page, &policy.files);
    for (name, engine) in &policy.search.engines {
        search(&mut page, name, engine);
    }
    page.text.push_str("\n[tools]\n");
    rules(&mut page, &policy.tools);
    policy.calls.0.iter().for_each(|rule| call_rule(&mut page, rule));
    policy.approvers.render(&mut page);
    policy.approved.render(&mut page);
    policy.restrictions.iter().for_each(|restriction| self::restriction(&mut page, restriction));
    page.text.push_str("\n[plugins]\n");
    rules(&mut page, &policy.plugins.rules);
    page.line(&format!("approve = \"{}\"", policy.plugins.approve.value), policy.plugins.approve.source);
    // All entries stand for the same key, so the first one is enough.
    if let Some(required) = policy.plugins.required.first() {
        page.line("require_signature = true", required.source);
    }
    if let Some(index) = &policy.plugins.index {
        page.line(&format!("index = {}", quote(&index.value)), index.source);
    }
    for (name, signer) in &policy.plugins.signers {
        page.header(&format!("plugins.signers.{name}"), signer.source);
        page.line(&format!("key = {}", quote(signer.value.key())), signer.source);
        let names: Vec<_> = signer.value.names.iter().map(|name| (name.to_string(), signer.source)).collect();
        page.list("names", &names, signer.source);
        page.line(&format!("approve = \"{}\"", signer.value.updates), signer.source);
    }
    for (host, login) in &policy.plugins.registries {
        registry(&mut page, host, login);
    }
    secrets(&mut page, &policy.plugins);
    if let Some(allow) = &policy.workspaces.allow {
        page.text.push_str("\n[workspaces]\n");
        let allow: Vec<_> = allow.iter().map(|rule| (rule.place.to_string(), rule.source)).collect();
        page.list("allow", &allow, policy.workspaces.origin);
    }
    audit(&mut page, &policy.audit);
    store(&mut page, &policy.store);
    render_http(&mut page, &policy.http);
    render_access(&mut page, &policy.access);
    render_limits(&mut page, &policy.limits);
    for (name, workspace) in &policy.served {
        render_workspace(&mut page, name, workspace);
    }
    for (name, grant) in &policy.grants {
        page.header(&format!("grant.{}", quote(name)), grant.source);
        for shell in &grant.shell {
            page.line(&format!("shell.profile = {}", quote(&shell.profile)), shell.source);
        }
    }
    page.text
}

impl CallRule {
    /// Returns the text of the rule, without its position in the file: what an approval is bound to.
    pub fn definition(&self) -> String {
        let mut page = Page::default();
        call_rule(&mut page, &Self { source: Source::Builtin, ..self.clone() });
        page.text
    }
}

fn call_rule(page: &mut Page, rule: &CallRule) {
    let source = rule.source;
    page.header("[rules]", source);
    page.line(&format!("name = {}", quote(&rule.name)), source);
    let mut list = |key: &str, entries: Vec<String>| {
        let entries: Vec<_> = entries.into_iter().map(|entry| (entry, source)).collect();
        if !entries.is_empty() {
            page.list(key, &entries, source);
        }
    };
    list("tools", rule.tools.iter().map(ToString::to_string).collect());
    for argument in &rule.arguments {
        let key = format!("arguments.{}", quote(&argument.pointer));
        list(&key, argument.patterns.iter().map(ToString::to_string).collect());
    }
    list("programs", rule.programs.patterns.iter().map(ToString::to_string).collect());
    for (key, entries) in circumstances::lists(&rule.conditions) {
        list(key, entries);
    }
    if !rule.programs.is_empty() {
        page.line(&format!("unknown = \"{}\"", rule.programs.unknown), source);
    }
    page.line(&format!("then = \"{}\"", rule.then), source);
    if rule.reports {
        page.line("mode = \"report\"", source);
    }
    if rule.own {
        page.line("self = true", source);
    }
    if rule.then == Then::Ask || rule.programs.may_ask() {
        page.line(&format!("channel = \"{}\"", rule.channel), source);
    }
    let mut list = |key: &str, entries: Vec<String>| {
        let entries: Vec<_> = entries.into_iter().map(|entry| (entry, source)).collect();
        if !entries.is_empty() {
            page.list(key, &entries, source);
        }
    };
    list("who", rule.who.clone());
    list("remember", rule.remember.iter().map(ToString::to_string).collect());
    if rule.within != DEFAULT_WITHIN {
        page.line(&format!("within = \"{}\"", show_within(rule.within)), source);
    }
    if let Some(reason) = &rule.reason {
        page.line(&format!("reason = {}", quote(reason)), source);
    }
}

fn restriction(page: &mut Page, restriction: &Restriction) {
    let source = restriction.source;
    page.header("[narrow]", source);
    page.line(&format!("name = {}", quote(&restriction.name)), source);
    for (key, entries) in lists(&restriction.conditions) {
        let entries: Vec<_> = entries.into_iter().map(|entry| (entry, source)).collect();
        page.list(key, &entries, source);
    }
    for line in &restriction.written {
        page.line(&format!("{} = {}", line.key, line.value), line.source);
    }
}

fn secrets(page: &mut Page, plugins: &PluginsPolicy) {
    let mut last = None;
    for ((plugin, name), from) in &plugins.secrets {
        if last != Some(plugin) {
            page.header(&format!("plugins.secrets.{}", quote(plugin)), from.source);
            last = Some(plugin);
        }
        let place = match &from.value {
            SecretFrom::File(path) => format!("file = {}", quote(path)),
            SecretFrom::Variable(variable) => format!("variable = {}", quote(variable)),
        };
        page.line(&format!("{} = {{ {place} }}", quote(name)), from.source);
    }
}

fn registry(page: &mut Page, host: &str, login: &Sourced<RegistryLogin>) {
    let source = login.source;
    page.header(&format!("plugins.registries.{}", quote(host)), source);
    match &login.value.credentials {
        CredentialsFrom::File { user, path } => {
            page.line(&format!("user = {}", quote(user)), source);
            page.line(&format!("password_file = {}", quote(path)), source);
        }
        CredentialsFrom::Command { user, command } => {
            page.line(&format!("user = {}", quote(user)), source);
            let parts: Vec<_> = command.iter().map(|part| (part.clone(), source)).collect();
            page.list("command", &parts, source);
        }
        CredentialsFrom::Docker => page.line("credentials = \"docker\"", source),
    }
    if let Some(host) = &login.value.token_host {
        page.line(&format!("token_host = {}", quote(host)), source);
    }
}

fn rules<T: std::fmt::Display>(page: &mut Page, rules: &Rules<T>) {
    for (key, listed, origin) in
        [("allow", &rules.allow, rules.allow_origin), ("deny", &rules.deny, rules.deny_origin)]
    {
        let listed: Vec<_> = listed.iter().map(|rule| (rule.value.to_string(), rule.source)).collect();
        page.list(key, &listed, origin);
    }
}

fn web(page: &mut Page, web: &WebPolicy) {
    page.text.push_str("\n[web]\n");
    page.line(&format!("enabled = {}", web.enabled.value), web.enabled.source);
    for (key, rules, origin) in
        [("allow", &web.allow, web.allow_origin), ("deny", &web.deny, web.deny_origin)]
    {
        let rules: Vec<_> = rules.iter().map(|rule| (rule.to_string(), rule.source)).collect();
        page.list(key, &rules, origin);
    }
    let private: Vec<_> = web.allow_private.iter().map(|rule| (rule.to_string(), rule.source)).collect();
    page.list("allow_private", &private, web.private_origin);
    page.line(&format!("redirects = \"{}\"", web.redirects.value), web.redirects.source);
    page.line(&format!("browser = {}", web.browser.value), web.browser.source);
    if let Some(path) = &web.browser_path {
        page.line(&format!("browser_path = {}", quote(&path.value)), path.source);
    }
}

fn files(page: &mut Page, files: &FilesPolicy) {
    page.text.push_str("\n[files]\n");
    let read: Vec<_> = files.read.iter().map(|rule| (rule.place.to_string(), rule.source)).collect();
    page.list("read", &read, files.read_origin);
    let deny: Vec<_> = files.deny.iter().map(|rule| (rule.glob().to_owned(), rule.source)).collect();
    page.list("deny", &deny, files.deny_origin);
}

fn search(page: &mut Page, name: &str, engine: &EnginePolicy) {
    page.header(&format!("search.engine.{name}"), engine.source);
    if let Some(enabled) = &engine.enabled {
        page.line(&format!("enabled = {}", enabled.value), enabled.source);
    }
    if let Some(url) = &engine.base_url {
        page.line(&format!("base_url = {}", quote(&url.value)), url.source);
    }
    if let Some(key) = &engine.key {
        page.line("key = \"(secret)\"", key.source);
    }
}

fn audit(page: &mut Page, audit: &AuditPolicy) {
    page.text.push_str("\n[audit]\n");
    for (key, switch) in
        [("enabled", &audit.enabled), ("arguments", &audit.arguments), ("required", &audit.required)]
    {
        page.line(&format!("{key} = {}", switch.value), switch.source);
    }
    let size = &audit.max_file_size;
    page.line(&format!("max_file_size = \"{}\"", show_size(size.value)), size.source);
    page.line(&format!("max_files = {}", audit.max_files.value), audit.max_files.source);
    let export: Vec<_> = audit.export.iter().map(|to| (to.value.to_string(), to.source)).collect();
    page.list("export", &export, audit.export_origin);
    if let Some(ca) = &audit.export_ca {
        page.line(&format!("export_ca = {}", quote(&ca.value)), ca.source);
    }
}

fn store(page: &mut Page, store: &StorePolicy) {
    let Some(source) = store.source else { return };
    page.header("store", source);
    let Some(database) = &store.database else {
        page.line("kind = \"sqlite\"", source);
        return;
    };
    page.line("kind = \"postgres\"", source);
    page.line(&format!("address = {}", quote(&database.address.value)), database.address.source);
    if let Some(path) = &database.password_file {
        page.line(&format!("password_file = {}", quote(&path.value)), path.source);
    }
    page.line(&format!("connections = {}", database.connections.value), database.connections.source);
    page.line(&format!("migrate = {}", database.migrate.value), database.migrate.source);
}

fn shell(page: &mut Page, shell: &ShellPolicy) {
    page.text.push_str("\n[shell]\n");
    page.line(&format!("min_tier = \"{}\"", shell.min_tier.value), shell.min_tier.source);
    let unsandboxed = &shell.allow_unsandboxed;
    page.line(&format!("allow_unsandboxed = {}", unsandboxed.value), unsandboxed.source);
    for (key, timeout) in
        [("default_timeout_ms", &shell.default_timeout), ("max_timeout_ms", &shell.max_timeout)]
    {
        page.line(&format!("{key} = {}", timeout.value.as_millis()), timeout.source);
    }
    let tasks = &shell.max_background_tasks;
    page.line(&format!("max_background_tasks = {}", tasks.value), tasks.source);
}

fn profile_lines(page: &mut Page, profile: &Profile) {
    let origins = &profile.origins;
    page.header(&format!("shell.profile.{}", profile.name), origins.profile);
    for (key, rules, origin) in
        [("read", &profile.read, origins.read), ("write", &profile.write, origins.write)]
    {
        let entries: Vec<_> = rules.iter().map(|rule| (rule.place.to_string(), rule.source)).collect();
        page.list(key, &entries, origin);
    }
    let deny: Vec<_> = profile.deny.iter().map(|rule| (rule.glob().to_owned(), rule.source)).collect();
    page.list("deny", &deny, origins.deny);
    page.line(&format!("network.mode = \"{}\"", profile.network.value), profile.network.source);
    if let Network::Allowlist { hosts, allow_private } = &profile.network.value {
        let hosts: Vec<_> = hosts.iter().map(|rule| (rule.to_string(), rule.source)).collect();
        page.list("network.hosts", &hosts, profile.network.source);
        let near: Vec<_> = allow_private.iter().map(|rule| (rule.to_string(), rule.source)).collect();
        page.list("network.allow_private", &near, profile.network.source);
    }
    if profile.unknown_hosts.value.asks() {
        let Sourced { value, source } = &profile.unknown_hosts;
        page.line(&format!("unknown_hosts = \"{}\"", value.word()), *source);
    }
    let local: Vec<_> = profile.local.iter().map(|rule| (rule.service.to_string(), rule.source)).collect();
    if !local.is_empty() {
        page.list("local", &local, origins.local);
    }
    if !profile.publish.is_empty() {
        let ports: Vec<_> = profile.publish.iter().map(|port| port.value.to_string()).collect();
        page.line(&format!("publish = [{}]", ports.join(", ")), origins.publish);
    }
    env(page, profile);
    limits(page, profile);
}

fn env(page: &mut Page, profile: &Profile) {
    let pass: Vec<_> = profile.env.pass.iter().map(|name| (name.value.clone(), name.source)).collect();
    page.list("env.pass", &pass, profile.origins.pass);
    if profile.env.set.is_empty() {
        page.line("env.set = {}", profile.origins.set);
    }
    for (name, value) in &profile.env.set {
        page.line(&format!("env.set.{name} = {}", quote(&value.value)), value.source);
    }
}

fn limits(page: &mut Page, profile: &Profile) {
    let (limits, origins) = (&profile.limits, &profile.origins);
    page.line(&format!("limits.processes = {}", limits.processes), origins.processes);
    page.line(&format!("limits.memory = \"{}\"", show_size(limits.memory)), origins.memory);
    page.line(&format!("limits.open_files = {}", limits.open_files), origins.open_files);
    page.line(&format!("limits.file_size = \"{}\"", show_size(limits.file_size)), origins.file_size);
    page.line(&format!("limits.tmp = \"{}\"", show_size(limits.tmp)), origins.tmp);
}
