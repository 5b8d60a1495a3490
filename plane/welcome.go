package plane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
)

// joiners are the bindings that let machines join, as every AKS cluster has them: who holds a bootstrap token may ask for a
// client certificate and gets it without a person's consent; who has one may renew it.
func joiners() []rbacv1.ClusterRoleBinding {
	bind := func(name, group, role string) rbacv1.ClusterRoleBinding {
		return rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}
	}
	return []rbacv1.ClusterRoleBinding{
		bind("lab:bootstrappers-ask", "system:bootstrappers", "system:node-bootstrapper"),
		bind("lab:bootstrappers-get", "system:bootstrappers", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"),
		bind("lab:nodes-renew", "system:nodes", "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient"),
	}
}

// dnsService is the address that kubelets are told to give pods as their name server.
func dnsService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns", Namespace: metav1.NamespaceSystem, Labels: map[string]string{"k8s-app": "kube-dns"}},
		Spec: corev1.ServiceSpec{
			ClusterIP: clusterDNS,
			Selector:  map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP},
			},
		},
	}
}

// welcome adds what an AKS cluster has and a bare control plane lacks. It may be repeated.
func welcome(ctx context.Context, api kubernetes.Interface) error {
	for _, b := range joiners() {
		_, err := api.RbacV1().ClusterRoleBindings().Create(ctx, &b, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("let machines join: %w", err)
		}
	}
	_, err := api.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, dnsService(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		// A second start finds the service under its own address, which reads as an invalid request, not as a conflict.
		if _, there := api.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, "kube-dns", metav1.GetOptions{}); there != nil {
			return fmt.Errorf("make the kube-dns service: %w", err)
		}
	}
	return nil
}

// untilManaged waits until the controller manager does its work, by giving it some: it deletes bootstrap tokens that have
// expired, and it makes each namespace's service account and CA bundle. The first is new work at every start.
func (c *child) untilManaged(api kubernetes.Interface) error {
	id := rand.String(6)
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id, Namespace: metav1.NamespaceSystem},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": rand.String(16),
			"description": "expired from birth: shows that the controller manager works",
			"expiration":  time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
		},
	}
	secrets := api.CoreV1().Secrets(metav1.NamespaceSystem)
	if _, err := secrets.Create(c.stopped, token, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("probe the controller manager: %w", err)
	}
	return c.until("kube-controller-manager works", func(ctx context.Context) (bool, error) {
		if _, err := secrets.Get(ctx, token.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return false, nil
		}
		for _, ns := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
			if _, err := api.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{}); err != nil {
				return false, nil
			}
			if _, err := api.CoreV1().ConfigMaps(ns).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
				return false, nil
			}
		}
		return true, nil
	})
}
