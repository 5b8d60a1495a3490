// Package admit answers: would an API server take this custom resource?
//
// It judges as the API server does, with the server's own code: unknown fields are dropped, defaults filled in, and what is left
// is held against the schema and the rules of the CRDs that the product ships. It talks to no cluster, keeps nothing, and changes
// nothing that it is given.
package admit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/karpenter-aks/karpenter/api/crds"
)

// Fault is one thing for which an API server would refuse an object, or with which a controller could not work. Whoever looks at objects
// before a cluster has them speaks of faults in this type.
type Fault struct {
	Field string // as Kubernetes writes paths: spec.template.spec.requirements[0].key; "" = the object as a whole
	What  string // of a Server: in the words of the API server
}

// String is FIELD: WHAT.
func (f Fault) String() string { return strings.TrimPrefix(f.Field+": "+f.What, ": ") }

// Server judges objects of the kinds that the product's CRDs define. The zero value is ready. It is not for concurrent use.
type Server struct {
	kinds map[schema.GroupKind]map[string]*rules // by version; of the kinds that were asked for so far
}

// rules finds those of one version of a kind; nil when we do not serve it. They are compiled when they are first asked for, which takes some
// hundredths of a second for each kind.
func (s *Server) rules(k schema.GroupVersionKind) (*rules, error) {
	if of, ok := s.kinds[k.GroupKind()]; ok {
		return of[k.Version], nil
	}
	doc, err := crds.Definition(k.Group, k.Kind)
	if doc == nil || err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc, &crd); err != nil {
		return nil, fmt.Errorf("read the CRD of %s: %w", k.Kind, err)
	}
	of := map[string]*rules{}
	for _, v := range crd.Spec.Versions {
		if of[v.Name], err = newRules(v, crd.Spec.Scope == apiextensionsv1.NamespaceScoped); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", v.Name, k.Kind, err)
		}
	}
	if s.kinds == nil {
		s.kinds = map[schema.GroupKind]map[string]*rules{}
	}
	s.kinds[k.GroupKind()] = of
	return of[k.Version], nil
}

// rules are what one version of a kind is held against.
type rules struct {
	shape      *structural.Structural
	schema     validation.SchemaValidator
	cel        *cel.Validator
	namespaced bool
	replicas   []string // where the number stands that the scale subresource shows; nil when there is none
}

func newRules(v apiextensionsv1.CustomResourceDefinitionVersion, namespaced bool) (*rules, error) {
	var in apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &in, nil); err != nil {
		return nil, err
	}
	shape, err := structural.NewStructural(in.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	sv, _, err := validation.NewSchemaValidator(in.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	r := &rules{shape: shape, schema: sv, cel: cel.NewValidator(shape, true, celconfig.PerCallLimit), namespaced: namespaced}
	if v.Subresources != nil && v.Subresources.Scale != nil {
		r.replicas = strings.Split(strings.TrimPrefix(v.Subresources.Scale.SpecReplicasPath, "."), ".")
	}
	return r, nil
}

// scale checks the number of replicas, which the scale subresource tells as one of 32 bits.
func (r *rules) scale(object map[string]any) field.ErrorList {
	n, found, err := unstructured.NestedInt64(object, r.replicas...)
	at := field.NewPath("", r.replicas...)
	switch {
	case len(r.replicas) == 0 || !found || err != nil: // of another type: the schema says so
		return nil
	case n < 0:
		return field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %d", math.MaxInt32))}
	}
	return nil
}

// Create says what would come of creating the object, which is written as JSON: the object with its defaults, and why it would be
// refused, by field. known is false for kinds that no CRD of ours defines. The error is for text that is no object.
func (s *Server) Create(object []byte) (created map[string]any, faults []Fault, known bool, err error) {
	// Whole numbers are read as integers here, as the API server reads them.
	if err := utiljson.Unmarshal(object, &created); err != nil {
		return nil, nil, false, err
	}
	var head metav1.TypeMeta
	head.APIVersion, _ = created["apiVersion"].(string)
	head.Kind, _ = created["kind"].(string)
	r, err := s.rules(head.GroupVersionKind())
	if r == nil || err != nil {
		return nil, nil, false, err
	}
	delete(created, "status") // who creates cannot set it
	var meta struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": created["metadata"]}, &meta); err != nil {
		return nil, []Fault{{"metadata", err.Error()}}, true, nil
	}
	pruning.Prune(created, r.shape, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(created, r.shape)
	defaulting.Default(created, r.shape)
	all := apivalidation.ValidateObjectMeta(&meta.Metadata, r.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	all = append(all, validation.ValidateCustomResource(nil, created, r.schema)...)
	all = append(all, r.scale(created)...)
	all = append(all, listtype.ValidateListSetsAndMaps(nil, r.shape, created)...)
	if !slices.ContainsFunc(all, blocks) {
		more, _ := r.cel.Validate(context.Background(), nil, r.shape, created, nil, celconfig.RuntimeCELCostBudget)
		all = append(all, more...)
	}
	for _, e := range all {
		at := strings.TrimPrefix(strings.TrimPrefix(e.Field, "<nil>"), ".")
		faults = append(faults, Fault{at, strings.ReplaceAll(e.ErrorBody(), at+" in body ", "")}) // it says where twice
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return strings.Compare(a.Field, b.Field) })
	return created, slices.Compact(faults), true, nil
}

// blocks reports whether the CRD's rules are not asked any more: they rely on what the schema says about types and lengths.
func blocks(e *field.Error) bool {
	switch e.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}
