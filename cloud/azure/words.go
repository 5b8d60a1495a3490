package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
)

// rules is the table of Azure's refusals; the first line that fits counts. Source: Azure's documentation of
// provisioning and allocation failures, and the codes that users of Karpenter on AKS report.
func rules() []rule {
	one := func(codes ...string) []string { return codes }
	return []rule{
		{one("OperationNotAllowed", "QuotaExceeded"), "LowPriorityCores", cloud.Quota, spotQuota},
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
		{one("RequestDisallowedByPolicy", "AuthorizationFailed", "LinkedAuthorizationFailed", "AuthenticationFailed", "InvalidAuthenticationToken",
			"InvalidAuthenticationTokenTenant", "ExpiredAuthenticationToken", "KeyVaultAccessForbidden", "ScopeLocked"), "", cloud.Denied, nil},
		{one("SubnetIsFull", "InsufficientSubnetSize", "InvalidResourceReference", "InvalidParameter", "InvalidRequestFormat", "InvalidRequestContent",
			"PropertyChangeNotAllowed", "ConflictingUserInput", "InvalidTemplateDeployment", "ImageNotFound", "GalleryImageNotFound", "PlatformImageNotFound",
			"DiskEncryptionSetNotFound", "LinkedInvalidPropertyId", "InvalidSubscriptionId", "VMMarketplaceInvalidInput", "LocationNotAvailableForResourceType",
			"TrustedLaunchNotSupported", "SecurityTypeNotSupported"), "", cloud.Invalid, nil},
		{one("ResourceNotFound", "NotFound", "ResourceGroupNotFound", "ParentResourceNotFound"), "", cloud.NotFound, nil},
	}
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

// classify puts one of Azure's refusals into our words. It is a pure function of its arguments.
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
			e.Scope = familyQuota(t, message)
		case r.scope != nil:
			e.Scope = r.scope(t)
		}
		return e
	}
	return e
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
		return noToken(auth)
	}
	var r *azcore.ResponseError
	if !errors.As(err, &r) {
		return &cloud.Error{Code: cloud.Unknown, Err: err}
	}
	e := classify(r.ErrorCode, messageOf(r), t)
	if r.StatusCode == http.StatusTooManyRequests {
		e.Code, e.Scope = cloud.Throttled, cloud.Scope{}
	}
	if e.Code == cloud.Throttled {
		e.RetryAfter = retryAfter(r.RawResponse)
	}
	if e.Code == cloud.Unknown {
		e.Code = byStatus(r.StatusCode)
	}
	return e
}

// noToken: the token endpoint refused us, or could not be asked, which is another matter.
func noToken(err *azidentity.AuthenticationFailedError) *cloud.Error {
	e := &cloud.Error{Code: cloud.Unknown, Reason: "AuthenticationFailed", Err: errors.New(oneLine(err.Error()))}
	switch {
	case err.RawResponse == nil || err.RawResponse.StatusCode >= http.StatusInternalServerError:
	case err.RawResponse.StatusCode == http.StatusTooManyRequests:
		e.Code, e.RetryAfter = cloud.Throttled, retryAfter(err.RawResponse)
	default:
		e.Code = cloud.Denied
	}
	return e
}

func byStatus(status int) cloud.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return cloud.Denied
	case http.StatusNotFound:
		return cloud.NotFound
	case http.StatusBadRequest:
		return cloud.Invalid
	}
	return cloud.Unknown
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
