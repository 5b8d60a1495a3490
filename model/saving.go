package model

import (
	"fmt"
	"strconv"
	"strings"
)

// MinimumSaving reads the pool's AnnotationMinimumSaving: the least share, in per cent, of the price of
// what leaves that a replacement has to save. said is false where the pool does not say, or where it
// cannot be read, which the error tells: then the default counts.
func (p *Pool) MinimumSaving() (percent float64, said bool, err error) {
	text, there := p.Annotations[AnnotationMinimumSaving]
	if !there {
		return 0, false, nil
	}
	share, ok := strings.CutSuffix(text, "%")
	percent, err = strconv.ParseFloat(share, 64)
	if !ok || err != nil || !(percent >= 0 && percent <= 100) {
		return 0, false, fmt.Errorf("%q is no share between 0%% and 100%%", text)
	}
	return percent, true, nil
}
