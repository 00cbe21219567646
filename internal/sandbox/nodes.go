package sandbox

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/sandbox/agent"
)

// zones are where the nodes stand, dealt out in turn.
var zones = []string{"a", "b", "c"}

// kubeletVersion is what the Node objects report: the control plane's own.
const kubeletVersion = "v1.36.3"

func newNodes(block *addressBlock, count int) []agent.Node {
	var nodes []agent.Node
	for i := range count {
		nodes = append(nodes, agent.Node{
			Name:    fmt.Sprintf("node-%d", i+1),
			Address: block.node(i),
			Zone:    zones[i%len(zones)],
		})
	}
	return nodes
}

// createNodes adds the Node objects. They have room for anything: what a pod asks
// for is not what its process gets.
func createNodes(ctx context.Context, client kubernetes.Interface, nodes []agent.Node, kubeletPort int) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("2Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("250"),
	}
	now := metav1.Now()
	for _, node := range nodes {
		object := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: node.Name,
				Labels: map[string]string{
					corev1.LabelHostname:       node.Name,
					corev1.LabelTopologyZone:   node.Zone,
					corev1.LabelTopologyRegion: "sandbox",
					corev1.LabelOSStable:       "linux",
					corev1.LabelArchStable:     "amd64",
				},
			},
			Status: corev1.NodeStatus{
				Capacity:    capacity,
				Allocatable: capacity,
				Conditions: []corev1.NodeCondition{{
					Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "SandboxReady",
					Message: "the sandbox's agent is running", LastHeartbeatTime: now, LastTransitionTime: now,
				}},
				Addresses: []corev1.NodeAddress{
					{Type: corev1.NodeInternalIP, Address: node.Address.String()},
					{Type: corev1.NodeHostName, Address: node.Name},
				},
				DaemonEndpoints: corev1.NodeDaemonEndpoints{
					KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(kubeletPort)},
				},
				NodeInfo: corev1.NodeSystemInfo{
					KubeletVersion: kubeletVersion, OperatingSystem: "linux", Architecture: "amd64",
					OSImage: "stevedore sandbox", ContainerRuntimeVersion: "stevedore-sandbox://1",
				},
			},
		}
		if _, err := client.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("adding the node %s to the sandbox: %w", node.Name, err)
		}
	}
	return nil
}

// createStorageClasses adds those that the examples name, and those whose volumes do not
// grow as usual. A volume is made once its pod has a node, as of most disks in a cloud.
func createStorageClasses(ctx context.Context, client kubernetes.Interface) error {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	for i, each := range agent.StorageClasses {
		class := &storagev1.StorageClass{
			ObjectMeta:           metav1.ObjectMeta{Name: each.Name},
			Provisioner:          agent.Provisioner,
			VolumeBindingMode:    &mode,
			AllowVolumeExpansion: &each.Expands,
		}
		if i == 0 {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("adding the storage class %s to the sandbox: %w", each.Name, err)
		}
	}
	return nil
}

// createAttributesClasses adds the VolumeAttributesClasses, of which the agent is the driver.
func createAttributesClasses(ctx context.Context, client kubernetes.Interface) error {
	attach := false
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: agent.CSIDriver}, Spec: storagev1.CSIDriverSpec{AttachRequired: &attach}}
	if _, err := client.StorageV1().CSIDrivers().Create(ctx, driver, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("adding the CSI driver %s to the sandbox: %w", driver.Name, err)
	}
	for _, each := range agent.AttributesClasses {
		class := &storagev1.VolumeAttributesClass{
			ObjectMeta: metav1.ObjectMeta{Name: each.Name},
			DriverName: cmp.Or(each.Driver, agent.Provisioner),
			Parameters: map[string]string{"tier": each.Name},
		}
		if _, err := client.StorageV1().VolumeAttributesClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("adding the VolumeAttributesClass %s to the sandbox: %w", each.Name, err)
		}
	}
	return nil
}
