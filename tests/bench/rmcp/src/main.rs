use rmcp::{ServiceExt, handler::server::wrapper::Parameters, schemars, tool, tool_router, transport};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[derive(Clone)]
struct Server;

#[tool_router(server_handler)]
impl Server {
    #[tool(description = "Returns the text it is given")]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    #[tool(description = "Returns the number of characters of the text it is given")]
    fn length(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text.chars().count().to_string()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let is = |k: &str, v: &str| std::env::var(k).is_ok_and(|x| x == v);
    let mut b = if is("RT", "mt") { tokio::runtime::Builder::new_multi_thread() } else { tokio::runtime::Builder::new_current_thread() };
    if let Ok(n) = std::env::var("GQ") { b.global_queue_interval(n.parse()?); b.event_interval(n.parse()?); }
    let rt = b.enable_all().build()?;
    let std_io = is("IO", "std");
    let main = async move {
        if std_io {
            Server.serve(transport::stdio()).await?.waiting().await?;
        } else {
            Server.serve(transport::io::stdio_pipes()).await?.waiting().await?;
        }
        Ok(())
    };
    #[cfg(feature = "local")]
    return tokio::task::LocalSet::new().block_on(&rt, main);
    #[cfg(not(feature = "local"))]
    rt.block_on(main)
}
