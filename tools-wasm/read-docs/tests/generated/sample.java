public final class Main {
    public static void main(String[] args) {
        Map<String, List<Integer>> by_port = new HashMap<>();

        if (args.length > 0 && by_port.isEmpty()) {
            System.out.println("<" + args[0] + ">");
        }
    }
}
