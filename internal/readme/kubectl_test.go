package readme

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// TestMain is also kubectl, where it is called so: the pages use a little of it, and
// `make test` wants a machine without it.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "error: "+err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// kubectl knows what the pages use, and refuses everything else.
func kubectl(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	namespace, folder, fields, data := "", "", "", map[string]string{}
	var words []string
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		switch {
		case (flag == "-n" || flag == "-k") && i+1 < len(args):
			i++
			if flag == "-n" {
				namespace = args[i]
			} else {
				folder = args[i]
			}
		case flag == "--field-selector" && i+1 < len(args):
			i++
			fields = args[i]
		case flag == "--from-literal" && joined:
			key, text, _ := strings.Cut(value, "=")
			data[key] = text
		case flag == "--from-file" && joined:
			key, file, _ := strings.Cut(value, "=")
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			data[key] = string(text)
		case strings.HasPrefix(args[i], "-"):
			return fmt.Errorf("the kubectl of this test does not know %s", args[i])
		default:
			words = append(words, args[i])
		}
	}
	switch what := strings.Join(words[:min(2, len(words))], " "); {
	case what == "apply" && folder != "":
		return applyFolder(ctx, config, folder, namespace)
	case what == "create namespace" && len(words) == 3:
		_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: words[2]}}, metav1.CreateOptions{})
	case what == "delete namespace" && len(words) == 3:
		err = client.CoreV1().Namespaces().Delete(ctx, words[2], metav1.DeleteOptions{})
	case what == "create secret" && len(words) == 4 && words[2] == "generic" && namespace != "":
		_, err = client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: words[3]}, StringData: data}, metav1.CreateOptions{})
	case what == "get events" && fields != "" && namespace != "":
		events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields})
		if err == nil && len(events.Items) == 0 {
			err = fmt.Errorf("no event has %s", fields)
		}
		return err
	default:
		err = fmt.Errorf("the kubectl of this test does not know %q", args)
	}
	return err
}

func applyFolder(ctx context.Context, config *rest.Config, folder, namespace string) error {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(finder)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	for _, resource := range made.Resources() {
		fields, err := resource.Map()
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{Object: fields}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		var to dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			in := object.GetNamespace()
			if in == "" {
				in = namespace
			}
			to = client.Resource(mapping.Resource).Namespace(in)
		}
		if _, err := to.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
			return err
		}
	}
	return nil
}
