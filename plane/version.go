package plane

import (
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// Version is the Kubernetes version that the plane is built from; it equals the one in go.mod.
const Version = "v1.37.1"

// gitVersion is the variable that Kubernetes' own build sets by a linker flag. Built as a library it holds v0.0.0-master,
// which nobody can parse: kubectl refuses to print it, and a controller that asks the server would buy machines of that version. A
// linker flag of our own would be forgotten by every go test and go install.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// SetVersion makes this process, client or server, call itself Version. MaybeRunChild does it for the plane.
func SetVersion() {
	gitVersion = Version // Kubernetes' variable, not ours: one per process, like the version it tells
	if err := version.SetDynamicVersion(Version); err != nil {
		panic(fmt.Sprintf("plane: %v", err)) // it must equal gitVersion, which it does
	}
}
