// Package top answers: what does a person who watches a cluster see?
//
// A Picture says what a world holds, once per world; a State says what of it is looked at, and changes with keys; Frame
// writes both as the lines of a screen. It reads no keyboard, no clock and no cluster, and why something is as it is
// others answer: State.Wanted says of what that is asked.
package top
