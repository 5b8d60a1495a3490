package azure

import (
	"strconv"
	"strings"
)

// Size is a virtual machine size's name taken apart. Grammar (Azure's naming conventions for sizes):
//
//	[Standard_|Basic_] Family Subfamily? vCPUs [-Constrained] features [_accelerator…] [_memoryIndex] [_vN] [_Promo]
type Size struct {
	Family      string // one upper-case letter: "D"
	Subfamily   string // zero to two upper-case letters: "C", "S", "CC"
	CPUs        int
	Constrained int    // vCPUs left on of a constrained size; 0 = not constrained
	Features    string // lower-case letters: "ads"
	Accelerator string // "A100", "xl_RTXPRO6000BSE", "" when the name has none
	MemoryIndex string // "8" in M416s_8_v2
	Version     string // "5"; "" when the name has none
	Promo       bool
}

// ParseSize takes a size's name apart; ok is false for names that do not follow the grammar.
func ParseSize(name string) (s Size, ok bool) {
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(name, "Standard_"), "Basic_"), "_")
	if s, ok = parseStem(parts[0]); !ok {
		return Size{}, false
	}
	var accel []string
	for _, p := range parts[1:] {
		switch {
		case p == "":
			return Size{}, false
		case p == "Promo":
			s.Promo = true
		case p[0] == 'v' && isDigits(p[1:]):
			s.Version = p[1:]
		case isDigits(p):
			s.MemoryIndex = p
		case p == "cc":
		default:
			accel = append(accel, p)
		}
	}
	s.Accelerator = strings.Join(accel, "_")
	return s, true
}

// parseStem reads "NC24ads" or "M8-2ms".
func parseStem(stem string) (s Size, ok bool) {
	letters := span(stem, isUpper)
	if len(letters) < 1 || len(letters) > 3 {
		return s, false
	}
	s.Family, s.Subfamily = letters[:1], letters[1:]
	rest := stem[len(letters):]
	digits := span(rest, isDigit)
	if s.CPUs, ok = number(digits); !ok {
		return s, false
	}
	rest = rest[len(digits):]
	if strings.HasPrefix(rest, "-") {
		digits = span(rest[1:], isDigit)
		if s.Constrained, ok = number(digits); !ok {
			return s, false
		}
		rest = rest[1+len(digits):]
	}
	s.Features = rest
	return s, span(rest, isLower) == rest
}

// Series is the name without its counts: "Dpls_v6", "NCads_A100_v4".
func (s Size) Series() string {
	out := s.Family + s.Subfamily + s.Features
	if s.Accelerator != "" {
		out += "_" + s.Accelerator
	}
	if s.Version != "" {
		out += "_v" + s.Version
	}
	return out
}

// VersionLabel is the version, "1" when the name has none.
func (s Size) VersionLabel() string {
	if s.Version == "" {
		return "1"
	}
	return s.Version
}

// Confidential reports whether the size is of a confidential series (DC, EC, NCC), which these images do not boot on.
func (s Size) Confidential() bool {
	head := s.Family + s.Subfamily
	return head == "NCC" || strings.HasPrefix(head, "DC") || strings.HasPrefix(head, "EC")
}

func span(s string, in func(byte) bool) string {
	for i := 0; i < len(s); i++ {
		if !in(s[i]) {
			return s[:i]
		}
	}
	return s
}

func number(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }
func isLower(b byte) bool { return b >= 'a' && b <= 'z' }
func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isDigits(s string) bool { return s != "" && span(s, isDigit) == s }
