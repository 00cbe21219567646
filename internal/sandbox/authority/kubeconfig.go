package authority

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig writes a kubeconfig for the API server of config: with a token,
// or as the user of config's certificate.
func WriteKubeconfig(path string, config *rest.Config, token, namespace string) error {
	user := &clientcmdapi.AuthInfo{Token: token}
	if token == "" {
		user.ClientCertificateData, user.ClientKeyData = config.CertData, config.KeyData
	}
	made := clientcmdapi.NewConfig()
	made.Clusters["sandbox"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	made.AuthInfos["sandbox"] = user
	made.Contexts["sandbox"] = &clientcmdapi.Context{Cluster: "sandbox", AuthInfo: "sandbox", Namespace: namespace}
	made.CurrentContext = "sandbox"
	content, err := clientcmd.Write(*made)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig %s: %w", path, err)
	}
	return nil
}
