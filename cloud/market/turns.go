package market

import (
	"time"

	"golang.org/x/time/rate"
)

// together is how long turns are gathered: machines that are bought at the same moment cost those who
// watch the cluster one look, not one each.
const together = 500 * time.Millisecond

// turns say when claims for which there was no token are to come back: one after the other, as tokens
// come. Were all told of the next token, all would be back for it, and a thousand claims would ask a
// hundred thousand times. Lost on restart, at no harm. Of a claim that does not come back the token is
// left for others.
type turns struct {
	of   map[string]time.Time // by claim UID
	last time.Time            // when the token of the last of them comes
}

// next says after how long the claim may launch, given when the next token comes: 0 = now, never while
// there is no token. Who has no turn waits behind those who have one.
func (t *turns) next(claimUID string, token time.Duration, pace rate.Limit, now time.Time) time.Duration {
	each := time.Duration(float64(time.Second) / float64(pace))
	at, has := t.of[claimUID]
	others := t.gathered().After(now)
	switch {
	case has && at.After(now):
		return at.Sub(now)
	case token <= 0 && (has || !others):
		delete(t.of, claimUID)
		return 0
	case has && token <= each:
		return token
	}
	if !others { // all came, or will not
		t.of, t.last = map[string]time.Time{}, now.Add(token)
	} else {
		t.last = t.last.Add(each)
	}
	at = t.gathered()
	t.of[claimUID] = at
	return at.Sub(now)
}

// gathered is when the last of them is to come back.
func (t *turns) gathered() time.Time { return t.last.Truncate(together).Add(together) }
