// Reads, writes and lists files with Go's standard library.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: files-go read|write|list PATH [TEXT]")
		os.Exit(2)
	}
	var err error
	switch path := os.Args[2]; os.Args[1] {
	case "read":
		var text []byte
		text, err = os.ReadFile(path)
		os.Stdout.Write(text)
	case "write":
		err = os.WriteFile(path, []byte(os.Args[3]), 0o644)
	case "list":
		var entries []os.DirEntry
		entries, err = os.ReadDir(path)
		for _, entry := range entries {
			fmt.Println(entry.Name())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
