// Command small stands for the controller: it says its version, and whether it is a FIPS build. It has
// one manual page.
package main

import (
	"crypto/fips140"
	"fmt"
	"os"
	"path/filepath"
)

var version = "dev"

func main() {
	if len(os.Args) != 6 { // man --dir DIR --date DAY
		fmt.Println(version, fips140.Enabled())
		return
	}
	page := fmt.Sprintf(".TH SMALL 1 %s\n", os.Args[5])
	err := os.WriteFile(filepath.Join(os.Args[3], "small.1"), []byte(page), 0o600)
	if err != nil {
		panic(err)
	}
}
