package proof

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/karpenter-aks/karpenter/release/program"
)

// SBOM is a CycloneDX document of what a program is linked from: the modules and the standard library
// that its own build information names, with the sums that go.sum had. Nothing is guessed from files.
func SBOM(p *program.Built, version string, when time.Time) ([]byte, error) {
	sum := sha256.Sum256(p.Binary)
	digest := hex.EncodeToString(sum[:])
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid(sum)
	main := cdx.Component{
		BOMRef: "karpenter", Type: cdx.ComponentTypeApplication, Name: p.Info.Main.Path,
		Version: version, PackageURL: purl(p.Info.Main.Path, version),
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}},
	}
	bom.Metadata = &cdx.Metadata{
		Timestamp: when.UTC().Format(time.RFC3339), Component: &main,
		Properties: settings(p.Info),
	}
	parts := []cdx.Component{component("std", strings.TrimPrefix(p.Info.GoVersion, "go"), "")}
	for _, m := range p.Info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, component(m.Path, m.Version, m.Sum))
	}
	slices.SortFunc(parts, func(a, b cdx.Component) int {
		return strings.Compare(a.BOMRef, b.BOMRef)
	})
	bom.Components = &parts
	var refs []string
	for _, c := range parts {
		refs = append(refs, c.BOMRef)
	}
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

func component(path, version, sum string) cdx.Component {
	c := cdx.Component{
		BOMRef: purl(path, version), Type: cdx.ComponentTypeLibrary, Name: path, Version: version,
		PackageURL: purl(path, version), Scope: cdx.ScopeRequired,
	}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

func purl(path, version string) string {
	return fmt.Sprintf("pkg:golang/%s@%s", path, strings.ReplaceAll(version, "+", "%2B"))
}

// settings are those that decide what the compiler makes; GOFIPS140 is among them.
func settings(info *buildinfo.BuildInfo) *[]cdx.Property {
	out := []cdx.Property{{Name: "go:version", Value: info.GoVersion}}
	for _, s := range sorted(info.Settings) {
		out = append(out, cdx.Property{Name: "go:build:" + s.Key, Value: s.Value})
	}
	return &out
}

func sorted(in []debug.BuildSetting) []debug.BuildSetting {
	return slices.SortedFunc(slices.Values(in), func(a, b debug.BuildSetting) int {
		return strings.Compare(a.Key, b.Key)
	})
}

// uuid is one of version 8 (RFC 9562): ours to fill, here with the program's digest.
func uuid(sum [32]byte) string {
	u := sum[:16]
	u = slices.Clone(u)
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
