// Command small stands for the controller: it says its version, and whether it is a FIPS build.
package main

import (
	"crypto/fips140"
	"fmt"
)

var version = "dev"

func main() { fmt.Println(version, fips140.Enabled()) }
