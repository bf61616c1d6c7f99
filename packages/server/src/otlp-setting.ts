import { OperatorError } from './operator-error.js'

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Returns whether the standard variables of OpenTelemetry ask for spans over OTLP. Throws an
 * OperatorError if a value is one that the exporter does not support.
 */
export function asksForTraces(variables: Variables): boolean {
  if (!isAsked(variables)) return false
  for (const name of ENDPOINTS) requireHttpUrl(name, variables[name])
  for (const name of PROTOCOLS) refuseGrpc(name, variables[name])
  return true
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const

function isAsked(variables: Variables): boolean {
  if (variables['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false
  const exporter = variables['OTEL_TRACES_EXPORTER']
  if (exporter) return exporter.split(',').some((name) => name.trim() === 'otlp')
  return ENDPOINTS.some((name) => variables[name])
}

function requireHttpUrl(name: string, value: string | undefined): void {
  if (!value || (URL.canParse(value) && /^https?:/i.test(value))) return
  throw new OperatorError(`${name} must be a URL that starts with http:// or https://`, 2)
}

function refuseGrpc(name: string, value: string | undefined): void {
  if (value !== 'grpc') return
  throw new OperatorError(`${name} cannot be grpc: spans are sent as JSON over HTTP`, 2)
}
