fn main() {
    let ports = vec!["a_b", "c&d"];

    for port in ports.iter().filter(|p| p.len() > 2) {
        println!("{port}: <{}>", tides::height::<f64>(port));
    }
}
