package main

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/karpenter-aks/karpenter/internal/config"
)

// logger makes the JSON logger, with the keys that log tools for Karpenter read: level, time, logger, message, commit.
func logger(c config.Log) (logr.Logger, func(), error) {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		return logr.Logger{}, nil, fmt.Errorf("log level: %w", err)
	}
	z := zap.NewProductionConfig()
	z.Level = zap.NewAtomicLevelAt(level)
	z.OutputPaths, z.ErrorOutputPaths = c.Outputs, c.ErrorOutputs
	z.Sampling = nil // a line that matters must not be the one that is dropped
	z.DisableStacktrace = true
	z.EncoderConfig.MessageKey, z.EncoderConfig.TimeKey = "message", "time"
	z.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	z.EncoderConfig.EncodeLevel = zapcore.CapitalLevelEncoder
	built, err := z.Build(zap.Fields(zap.String("commit", version)))
	if err != nil {
		return logr.Logger{}, nil, fmt.Errorf("open the log: %w", err)
	}
	log := zapr.NewLogger(built)
	// The API client's own lines in the same form.
	ctrllog.SetLogger(log.WithName("client"))
	klog.SetLogger(log.WithName("client"))
	return log, func() { _ = built.Sync() }, nil
}
