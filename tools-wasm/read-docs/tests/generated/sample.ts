const port = new Port<number>("a_b");

if (port.heights.length > 0 && port.name !== "c") {
  console.log(`<${port.name}>`);
}
