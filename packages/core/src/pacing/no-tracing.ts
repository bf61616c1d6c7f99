import type { RandomBytes } from '../domain/webhooks/signature.js'
import { childTrace } from '../domain/messages/trace.js'
import type { ActiveSpan, SpanStart, Tracing } from '../ports/tracing.js'

const LEAVES_THE_SERVICE: ReadonlySet<SpanStart['name']> = new Set([
  'agent.run',
  'delivery.attempt',
])

export const NO_SPAN: ActiveSpan = {
  trace: undefined,
  within: (work) => work(),
  link: () => undefined,
  end: () => undefined,
}

/**
 * Makes no spans. Sends a client's trace to agents and webhooks, with a new parent id each time.
 */
export const noTracing = (randomBytes: RandomBytes): Tracing => ({
  start({ name, parent }) {
    if (!parent || name === 'store.commit') return NO_SPAN
    const trace = LEAVES_THE_SERVICE.has(name) ? childTrace(parent, randomBytes) : parent
    return { ...NO_SPAN, trace }
  },
})
