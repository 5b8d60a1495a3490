package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/karpenter-aks/karpenter/cloud"
	"github.com/karpenter-aks/karpenter/model"
)

// tried is the offering that an error answers; the zero value when the call was about none.
type tried struct {
	offering model.OfferingKey
	family   string // quota family
	cpu      int64  // thousandths of a core
	// class and generation of what was ordered
	class      model.ClassRef
	generation int64
}

func triedFor(o cloud.Order, s SKU) tried {
	return tried{offering: o.Offering.Key(), family: s.Family, cpu: s.CPUs * 1000, class: o.Class.Ref, generation: o.Class.Generation}
}

func (t tried) zonal() bool { return t.offering.Zone != regionalZone }

// rule is one line of the table below: an error with this code (any of them, or any code when there are none) and
// this text is of that kind.
type rule struct {
	codes []string // Azure's error codes
	text  string   // in the message, any case; "" = any
	code  cloud.Code
	scope func(t tried) cloud.Scope // nil = nothing more to say
}

// How long a refusal is believed. Source: what AKS' own Karpenter has learnt to wait.
const (
	believeSubscription = time.Hour
	believeQuota        = 10 * time.Minute
	believeNoQuota      = time.Hour
	believeRegion       = time.Minute // any machine that goes away makes room
	believeAllocation   = time.Hour
	believeSKUSpot      = time.Hour
	believeSKU          = 23 * time.Hour
	believeSpot         = time.Hour
)

// rules is the table of Azure's refusals; the first line that fits counts. Source: Azure's documentation of
// provisioning and allocation failures, and the codes that users of Karpenter on AKS report.
func rules() []rule {
	one := func(codes ...string) []string { return codes }
	return []rule{
		{one("OperationNotAllowed", "QuotaExceeded"), "LowPriorityCores", cloud.Quota, spotQuota},
		{nil, "Total Regional Low-priority", cloud.Quota, spotQuota},
		{nil, "Total Regional Spot", cloud.Quota, spotQuota},
		{one("AzureSpotFeatureNotEnabledForSubscription"), "", cloud.Quota, spotQuota},
		{one("OperationNotAllowed", "QuotaExceeded"), "Family Cores quota", cloud.Quota, nil}, // familyQuota reads the text
		{one("OperationNotAllowed", "QuotaExceeded"), "Regional Cores quota", cloud.Quota, regionalQuota},
		{nil, "exceeding approved Total Regional Cores quota", cloud.Quota, regionalQuota},
		{one("QuotaExceeded"), "", cloud.Quota, theOffering},
		{one("SkuNotAvailable", "VMSizeNotSupported"), "", cloud.NoCapacity, skuGone},
		{one("BadRequest"), "is not supported for subscription", cloud.NoCapacity, everyPlacement},
		{one("ZonalAllocationFailed"), "", cloud.NoCapacity, zoneOf(false)},
		{one("AllocationFailed"), "", cloud.NoCapacity, attempted(false)},
		{one("OverconstrainedZonalAllocationRequest"), "", cloud.NoCapacity, zoneOf(true)},
		{one("OverconstrainedAllocationRequest"), "", cloud.NoCapacity, attempted(true)},
		{one("TooManyRequests", "OperationNotAllowedByThrottling", "SubscriptionRequestsThrottled", "ResourceRequestsThrottled", "RateLimiting"), "", cloud.Throttled, nil},
		{one("AuthorizationFailed", "LinkedAuthorizationFailed", "AuthenticationFailed", "InvalidAuthenticationToken",
			"InvalidAuthenticationTokenTenant", "ExpiredAuthenticationToken", "KeyVaultAccessForbidden", "ScopeLocked", "FailedIdentityOperation"),
			"", cloud.Denied, wholeClass},
		{one("SubnetIsFull", "InsufficientSubnetSize"), "", cloud.Quota, wholeClass},
		{one("InvalidResourceReference", "InvalidRequestFormat", "InvalidRequestContent", "DiskEncryptionSetNotFound", "LinkedInvalidPropertyId",
			"InvalidSubscriptionId", "VMMarketplaceInvalidInput", "LocationNotAvailableForResourceType"), "", cloud.Invalid, wholeClass},
		{one("ResourceNotFound", "NotFound", "ResourceGroupNotFound", "ParentResourceNotFound"), "", cloud.NotFound, wholeClass},
		// What is wrong with one size, zone or capacity type, by Azure's code or words. Policies commonly name the sizes that are allowed.
		{one("InvalidAvailabilityZone", "AvailabilityZoneNotSupported", "ZoneNotAllowedForResource"), "", cloud.Refused, sizeInZone},
		{nil, "hypervisor generation", cloud.Refused, sizeForClass},
		{one("TrustedLaunchNotSupported", "SecurityTypeNotSupported", "RequestDisallowedByPolicy"), "", cloud.Refused, sizeForClass},
		{nil, "spot virtual machine", cloud.Refused, sizeAsSpot},
	}
}

// wholeClass: the refusal has nothing to do with the offering; whatever is ordered for the class is refused.
func wholeClass(t tried) cloud.Scope {
	return cloud.Scope{Class: t.class, Generation: t.generation, All: true}
}

func sizeInZone(t tried) cloud.Scope {
	return cloud.Scope{Type: t.offering.Type, Zone: t.offering.Zone}
}

func sizeForClass(t tried) cloud.Scope {
	return cloud.Scope{Class: t.class, Generation: t.generation, Type: t.offering.Type}
}

// sizeAsSpot: the size is not sold as spot. Were something else about spot meant, on demand is still open.
func sizeAsSpot(t tried) cloud.Scope {
	return cloud.Scope{Type: t.offering.Type, CapacityType: t.offering.CapacityType, For: believeSpot}
}

// oneOffering is what a refusal closes whose reason we do not know. The class may have a part in it.
func oneOffering(t tried) cloud.Scope {
	return cloud.Scope{Class: t.class, Generation: t.generation, Type: t.offering.Type, Zone: t.offering.Zone, CapacityType: t.offering.CapacityType}
}

func spotQuota(tried) cloud.Scope {
	return cloud.Scope{All: true, CapacityType: model.Spot, For: believeSubscription}
}

// regionalQuota: every size of this many cores or more is too much for the region's limit; smaller ones may fit.
func regionalQuota(t tried) cloud.Scope {
	return cloud.Scope{All: true, CapacityType: t.offering.CapacityType, MinCPU: t.cpu, For: believeRegion}
}

func theOffering(t tried) cloud.Scope {
	return cloud.Scope{Type: t.offering.Type, Zone: t.offering.Zone, CapacityType: t.offering.CapacityType, For: believeQuota}
}

// familyQuota blocks the family from the refused size on; a limit of zero will not change by itself.
func familyQuota(t tried, message string) cloud.Scope {
	s := cloud.Scope{Family: t.family, CapacityType: t.offering.CapacityType, MinCPU: t.cpu, For: believeQuota}
	if strings.Contains(strings.ToLower(message), "current limit: 0,") || strings.HasSuffix(strings.ToLower(message), "current limit: 0") {
		s.For = believeNoQuota
	}
	if t.family == "" {
		s.Type = t.offering.Type
	}
	return s
}

// skuGone: the size is not sold to us in the placement that was tried (in zones, or outside them). Other sizes of the
// family may be: this is a restriction, not a lack of hardware.
func skuGone(t tried) cloud.Scope {
	s := cloud.Scope{
		Type: t.offering.Type, CapacityType: t.offering.CapacityType, Zonal: t.zonal(), Regional: !t.zonal(), For: believeSKU,
	}
	if t.offering.CapacityType == model.Spot {
		s.For = believeSKUSpot
	}
	return s
}

// sizeAndLarger: where the hardware has no room for a size it has none for a larger one of the same family.
func (t tried) sizeAndLarger() cloud.Scope {
	if t.family == "" {
		return cloud.Scope{Type: t.offering.Type, For: believeAllocation}
	}
	return cloud.Scope{Family: t.family, MinCPU: t.cpu, For: believeAllocation}
}

func everyPlacement(t tried) cloud.Scope {
	return cloud.Scope{Type: t.offering.Type, For: believeSKU}
}

// zoneOf blocks the size in its zone, for the capacity type that was tried or for both.
func zoneOf(onlyTried bool) func(tried) cloud.Scope {
	return func(t tried) cloud.Scope {
		s := t.sizeAndLarger()
		s.Zone = t.offering.Zone
		if onlyTried {
			s.CapacityType = t.offering.CapacityType
		}
		return s
	}
}

// attempted blocks the size in the placement that was tried, for the capacity type that was tried or for both.
func attempted(onlyTried bool) func(tried) cloud.Scope {
	return func(t tried) cloud.Scope {
		s := t.sizeAndLarger()
		s.Zonal, s.Regional = t.zonal(), !t.zonal()
		if onlyTried {
			s.CapacityType = t.offering.CapacityType
		}
		return s
	}
}

// classify puts one of Azure's refusals into our words; a code that we do not know is Refused, an answer without any Unknown. It is a
// pure function of its arguments.
func classify(code, message string, t tried) *cloud.Error {
	e := &cloud.Error{Code: cloud.Unknown, Reason: code, Err: errors.New(oneLine(message))}
	for _, r := range rules() {
		if !r.fits(code, message) {
			continue
		}
		e.Code = r.code
		switch {
		case t == (tried{}):
		case r.text == "Family Cores quota":
			e.More.Scope = familyQuota(t, message)
		case r.scope != nil:
			e.More.Scope = r.scope(t)
		}
		return e
	}
	if code != "" {
		e.Code = cloud.Refused
		if t != (tried{}) {
			e.More.Scope = oneOffering(t)
		}
	}
	return e
}

// hasRule reports whether a line of the table is about the answer.
func hasRule(code, message string) bool {
	return slices.ContainsFunc(rules(), func(r rule) bool { return r.fits(code, message) })
}

func (r rule) fits(code, message string) bool {
	if r.text != "" && !strings.Contains(strings.ToLower(message), strings.ToLower(r.text)) {
		return false
	}
	for _, c := range r.codes {
		if strings.EqualFold(c, code) {
			return true
		}
	}
	return len(r.codes) == 0
}

// inWords turns an error of a call into ours: Azure's code first, then the HTTP status. nil stays nil.
func inWords(err error, t tried) error {
	if err == nil {
		return nil
	}
	var known *cloud.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &cloud.Error{Code: cloud.Unknown, Reason: "Interrupted", Err: err}
	}
	var auth *azidentity.AuthenticationFailedError
	if errors.As(err, &auth) {
		e := noToken(auth)
		if e.Code == cloud.Denied && t != (tried{}) {
			e.More.Scope = wholeClass(t)
		}
		return e
	}
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		return &cloud.Error{Code: cloud.Unknown, Err: err}
	}
	e := classify(r.ErrorCode, messageOf(r), t)
	if r.StatusCode == http.StatusTooManyRequests {
		e.Code, e.More.Scope = cloud.Throttled, cloud.Scope{}
	}
	if e.Code == cloud.Throttled {
		e.More.RetryAfter = retryAfter(r.RawResponse)
	}
	if e.Code == cloud.Unknown || e.Code == cloud.Refused && !hasRule(r.ErrorCode, messageOf(r)) {
		byStatus(e, r.StatusCode, t)
	}
	return e
}

// noToken: the token endpoint refused us, or could not be asked, which is another matter.
func noToken(err *azidentity.AuthenticationFailedError) *cloud.Error {
	e := &cloud.Error{Code: cloud.Unknown, Reason: "AuthenticationFailed", Err: errors.New(oneLine(err.Error()))}
	switch {
	case err.RawResponse == nil || err.RawResponse.StatusCode >= http.StatusInternalServerError:
	case err.RawResponse.StatusCode == http.StatusTooManyRequests:
		e.Code, e.More.RetryAfter = cloud.Throttled, retryAfter(err.RawResponse)
	default:
		e.Code = cloud.Denied
	}
	return e
}

// byStatus judges an answer whose code nobody knows. RFC 9110, 15.5: with a 4xx the request was not carried out, so it is final; but 408
// and 425 ask for it once more. After a 5xx nobody knows, whatever its body says.
func byStatus(e *cloud.Error, status int, t tried) {
	scope := oneOffering
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Code, scope = cloud.Denied, wholeClass
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status < 400, status >= 500:
		e.Code, scope = cloud.Unknown, func(tried) cloud.Scope { return cloud.Scope{} }
	case t == (tried{}) && status == http.StatusNotFound:
		e.Code = cloud.NotFound
	case t == (tried{}) && status == http.StatusBadRequest:
		e.Code = cloud.Invalid
	default:
		e.Code = cloud.Refused
	}
	e.More.Scope = cloud.Scope{}
	if t != (tried{}) {
		e.More.Scope = scope(t)
	}
}

// messageOf digs Azure's own words out of the answer; the SDK's own text is a page with headers and the request's URL.
func messageOf(r *azcore.ResponseError) string {
	short := fmt.Sprintf("HTTP %d %s", r.StatusCode, http.StatusText(r.StatusCode))
	if r.RawResponse == nil {
		return short
	}
	body, err := runtime.Payload(r.RawResponse) // the SDK has read it already
	var answer struct {
		Error   armError `json:"error"`
		Message string   `json:"message"`
	}
	if err != nil || json.Unmarshal(body, &answer) != nil {
		return short
	}
	if m := answer.Error.words(); m != "" {
		return m
	}
	return cmp.Or(answer.Message, short)
}

// armError is an error as Azure Resource Manager writes it.
type armError struct {
	Code    string     `json:"code"`
	Message string     `json:"message"`
	Details []armError `json:"details"`
}

// words joins the message with those of its details, one level down, where the cause often stands.
func (e armError) words() string {
	parts := []string{e.Message}
	for _, d := range e.Details {
		if d.Message != "" && !strings.Contains(e.Message, d.Message) {
			parts = append(parts, d.Message)
		}
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// retryAfter reads seconds or a date; zero when the answer does not say.
func retryAfter(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"retry-after-ms", time.Millisecond}, {"x-ms-retry-after-ms", time.Millisecond}, {"retry-after", time.Second}} {
		if n, err := strconv.Atoi(resp.Header.Get(h.name)); err == nil && n > 0 {
			return time.Duration(n) * h.unit
		}
	}
	at, err := http.ParseTime(resp.Header.Get("retry-after"))
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(resp.Header.Get("date"))
	if err != nil || !at.After(sent) {
		return 0
	}
	return at.Sub(sent)
}

// maxWords bounds the text that goes into conditions and events, in bytes.
const maxWords = 1200

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}
