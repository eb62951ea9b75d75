// A gRPC server of the health checking protocol that answers every Nth call with Unavailable.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

type server struct {
	health.UnimplementedHealthServer
	every, calls int64
}

func (s *server) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.every > 0 && atomic.AddInt64(&s.calls, 1)%s.every == 0 {
		return nil, status.Error(codes.Unavailable, "now and then")
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func main() {
	every, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	s := grpc.NewServer()
	health.RegisterHealthServer(s, &server{every: every})
	panic(s.Serve(listener))
}
