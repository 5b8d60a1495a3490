package assemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// tokenLife is how long a token is asked for; tokenRenew how often it is replaced, as a kubelet does well before the
	// end; tokenRetry how soon after a failure, which a restart of the API server is.
	tokenLife  = time.Hour
	tokenRenew = 30 * time.Minute
	tokenRetry = 5 * time.Second
	// reviewLimit bounds the question whether a token is genuine; the API server on this machine answers in milliseconds.
	reviewLimit = 5 * time.Second

	tokenFile      = "token"
	azureTokenFile = "azure-identity-token"
)

// identity keeps the controller's credentials fresh in a directory, as a kubelet does in a pod's projected volumes: one
// token for the API server, one to be exchanged at the cloud.
type identity struct {
	api kubernetes.Interface
	dir string
}

// renew writes both tokens anew.
func (i *identity) renew(ctx context.Context) error {
	for _, t := range []struct {
		file      string
		audiences []string // none means the API server itself
	}{{tokenFile, nil}, {azureTokenFile, []string{azureAudience}}} {
		life := int64(tokenLife / time.Second)
		req := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: t.audiences, ExpirationSeconds: &life}}
		got, err := i.api.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount, req, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("token for %s/%s: %w", Namespace, ServiceAccount, err)
		}
		if err := replaceFile(filepath.Join(i.dir, t.file), []byte(got.Status.Token)); err != nil {
			return err
		}
	}
	return nil
}

// keep renews the tokens until ctx ends.
func (i *identity) keep(ctx context.Context, say func(format string, args ...any)) {
	wait := tokenRenew
	for {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		wait = tokenRenew
		if err := i.renew(ctx); err != nil && ctx.Err() == nil {
			say("cannot renew the controller's tokens, will try again: %v", err)
			wait = tokenRetry
		}
	}
}

// judge tells the simulated Azure whether a federated token is one of this cluster's controller, as Microsoft Entra ID
// does with the issuer's keys and the subject of the federated credential.
func (i *identity) judge(assertion string) error {
	ctx, cancel := context.WithTimeout(context.Background(), reviewLimit)
	defer cancel()
	r := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: assertion, Audiences: []string{azureAudience}}}
	got, err := i.api.AuthenticationV1().TokenReviews().Create(ctx, r, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	if !got.Status.Authenticated {
		return errors.New("the token is not one of this issuer for the audience " + azureAudience)
	}
	if want := "system:serviceaccount:" + Namespace + ":" + ServiceAccount; got.Status.User.Username != want {
		return fmt.Errorf("the token's subject is %s, the federated credential names %s", got.Status.User.Username, want)
	}
	return nil
}

// kubeconfig writes the controller's way to the API server: the token by file, because it changes.
func (i *identity) kubeconfig(path, endpoint string, ca []byte) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["lab"] = &clientcmdapi.Cluster{Server: endpoint, CertificateAuthorityData: ca}
	c.AuthInfos[ServiceAccount] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(i.dir, tokenFile)}
	c.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: ServiceAccount, Namespace: Namespace}
	c.CurrentContext = "lab"
	b, err := clientcmd.Write(*c)
	if err != nil {
		return err
	}
	return replaceFile(path, b)
}

// replaceFile changes a file in one step, so that a reader sees the old or the new one, also when we die here.
func replaceFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
