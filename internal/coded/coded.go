// Package coded answers: what kind of thing went wrong behind a door?
//
// Cluster and cloud say it in one form: a code from the door's own closed list, which callers act on, and words, which they only show.
// It knows no codes: each door lists its own.
package coded

import (
	"errors"
	"fmt"
)

// Error is a refusal in our words. C is the door's type of codes, D what its callers need to know beside the code.
type Error[C ~string, D any] struct {
	Code   C
	Reason string // the other side's own code, "" = none; shown, never acted upon
	More   D
	Err    error // the cause, in words; may be nil
}

// Error prints "no-capacity (SkuNotAvailable): …".
func (e *Error[C, D]) Error() string {
	s := string(e.Code)
	if e.Reason != "" {
		s += " (" + e.Reason + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error[C, D]) Unwrap() error { return e.Err }

// Of returns the code of the outermost *Error[C, D] in err: "" for nil, unknown when there is none. Errors of another door have none.
func Of[C ~string, D any](err error, unknown C) C {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error[C, D]](err); ok {
		return e.Code
	}
	return unknown
}

// Errorf builds an *Error whose cause wraps like fmt.Errorf.
func Errorf[C ~string, D any](code C, format string, args ...any) *Error[C, D] {
	return &Error[C, D]{Code: code, Err: fmt.Errorf(format, args...)}
}
