import type { Variables } from './config.js'
import { OperatorError } from '../operator-error.js'

/** The settings of a server for exports over OTLP. */
export const otlpExports = (variables: Variables) => ({
  exportsTraces: asksForTraces(variables),
  exportsMetrics: asksForMetrics(variables),
})

/**
 * Returns whether the standard variables of OpenTelemetry ask for spans over OTLP. Throws an
 * OperatorError if a value is one that the exporter does not support.
 */
export const asksForTraces = (variables: Variables): boolean =>
  asksFor('TRACES', variables, ({ OTEL_TRACES_EXPORTER: exporter }) =>
    exporter ? namesOtlp(exporter) : endpointsOf('TRACES').some((name) => variables[name]),
  )

/** As `asksForTraces`, for metrics. An endpoint alone does not ask for metrics. */
export const asksForMetrics = (variables: Variables): boolean =>
  asksFor('METRICS', variables, ({ OTEL_METRICS_EXPORTER: exporter = '' }) => namesOtlp(exporter))

type Signal = 'TRACES' | 'METRICS'

function asksFor(signal: Signal, variables: Variables, isAsked: (variables: Variables) => boolean) {
  if (isDisabled(variables) || !isAsked(variables)) return false
  for (const name of endpointsOf(signal)) requireHttpUrl(name, variables[name])
  for (const name of protocolsOf(signal)) refuseGrpc(name, variables[name])
  return true
}

const endpointsOf = (signal: Signal) => [
  `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`,
  'OTEL_EXPORTER_OTLP_ENDPOINT',
]
const protocolsOf = (signal: Signal) => [
  `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`,
  'OTEL_EXPORTER_OTLP_PROTOCOL',
]

const namesOtlp = (exporters: string) => exporters.split(',').some((name) => name.trim() === 'otlp')

const isDisabled = (variables: Variables) =>
  variables['OTEL_SDK_DISABLED']?.toLowerCase() === 'true'

function requireHttpUrl(name: string, value: string | undefined) {
  if (!value || (URL.canParse(value) && /^https?:/i.test(value))) return
  throw new OperatorError(`${name} must be a URL that starts with http:// or https://`, 2)
}

function refuseGrpc(name: string, value: string | undefined) {
  if (value !== 'grpc') return
  throw new OperatorError(`${name} cannot be grpc: the export sends JSON over HTTP`, 2)
}
