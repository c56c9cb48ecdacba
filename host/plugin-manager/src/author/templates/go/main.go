// An ordinary program. Its standard output is the result of the tool. If it fails, the model reads its
// standard error. Go for WASI has no network; files need [capabilities.files] in plugin.toml.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail("The text cannot be read: %v.", err)
	}
	what := "words"
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	switch what {
	case "words":
		fmt.Println(len(bytes.Fields(text)))
	case "lines":
		lines := bytes.Count(text, []byte("\n"))
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			lines++
		}
		fmt.Println(lines)
	case "characters":
		fmt.Println(utf8.RuneCount(text))
	default:
		fail("%q cannot be counted; write words, lines or characters.", what)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
