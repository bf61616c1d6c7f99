import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  type Resource,
} from '@opentelemetry/resources'

/** The name of the service, of its tracer and of its agents' provider. */
export const SERVICE = 'agent-messaging'

/** The attributes of this service: its name, and those of the `OTEL_*` variables. */
export const serviceResource = (): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE }))
    .merge(detectResources({ detectors: [envDetector] }))
