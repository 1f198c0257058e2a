package mockbackend

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

// An authority signs the certificates of one server. It lives as long as the
// server, and its key never leaves the process.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// validity is how long certificates hold, before now and after.
const (
	validBefore = time.Hour // for a client whose clock is late
	validAfter  = 30 * 24 * time.Hour
)

func newAuthority() *authority {
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Touchstone mock backend CA"},
		NotBefore:             now.Add(-validBefore),
		NotAfter:              now.Add(validAfter),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	key := newKey()
	return &authority{cert: sign(template, template, &key.PublicKey, key), key: key}
}

// issue makes a certificate for names and addresses, valid between two times.
func (a *authority) issue(notBefore, notAfter time.Time, hosts ...string) tls.Certificate {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "Touchstone mock backend"},
		NotBefore:   notBefore,
		NotAfter:    notAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key := newKey()
	leaf := sign(template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{leaf.Raw, a.cert.Raw}, PrivateKey: key, Leaf: leaf}
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("mockbackend: making a key: " + err.Error()) // crypto/rand does not fail
	}
	return key
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) *x509.Certificate {
	template.SerialNumber = new(big.Int).SetBytes([]byte(rand.Text()))
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	var cert *x509.Certificate
	if err == nil {
		cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		panic("mockbackend: making a certificate: " + err.Error()) // our own template
	}
	return cert
}

func pemOf(ders ...[]byte) []byte {
	var out bytes.Buffer
	for _, der := range ders {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return out.Bytes()
}

// localHosts are the names under which the server is reached.
func localHosts(addr net.Addr) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case !ok || tcp.IP.IsLoopback():
	case tcp.IP.IsUnspecified():
		// An error leaves the names out; whoever calls by one is told by TLS.
		addrs, _ := net.InterfaceAddrs()
		for _, a := range addrs {
			if ip, ok := a.(*net.IPNet); ok && !ip.IP.IsLoopback() {
				hosts = append(hosts, ip.IP.String())
			}
		}
		if name, err := os.Hostname(); err == nil {
			hosts = append(hosts, name)
		}
	default:
		hosts = append(hosts, tcp.IP.String())
	}
	return hosts
}

// goodCert makes a certificate for the server.
func (s *Server) goodCert() tls.Certificate {
	now := time.Now()
	return s.authority().issue(now.Add(-validBefore), now.Add(validAfter), localHosts(s.addr)...)
}

// tlsConfig is that of a listener with the certificate.
func tlsConfig(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
}

// CAPEM gives the certificate of the authority that signs this server's
// certificates, to be trusted by a client. Each server has another one.
func (s *Server) CAPEM() []byte { return pemOf(s.authority().cert.Raw) }

// CertPEM gives the certificate of a server with [Options.TLS] and that of its
// authority; nil of one without.
func (s *Server) CertPEM() []byte {
	if s.cert == nil {
		return nil
	}
	return pemOf(s.cert.Certificate...)
}

// Client gives a client that trusts the server's certificates and speaks
// HTTP/2 where that is possible. It is the same one each time; Close closes its
// idle connections.
func (s *Server) Client() *http.Client { return s.client() }

func (s *Server) newClient() *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(s.authority().cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}
}
