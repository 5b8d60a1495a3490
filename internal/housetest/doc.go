// Package housetest answers: do we keep our own rules?
//
// It has no code but tests, which read the whole tree and check the rules of ARCHITECTURE.md and STYLE.md that a machine
// can check. A rule that fails prints its reason. To change a rule, change its table here and say why in the commit.
package housetest
