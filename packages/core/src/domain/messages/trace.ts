import type { RandomBytes } from '../webhooks/signature.js'

/** The two headers of W3C Trace Context, which tracing tools use to follow a request. */
export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** The flags for sampled and random trace ids. Other flags are sent as zero (§3.2.2.5). */
const KNOWN_FLAGS = 0b11

/**
 * Returns a request's context in version 00, or undefined if it is malformed (§3.2). A malformed
 * one also drops the `tracestate`.
 */
export function parseTrace(traceparent = '', tracestate = ''): TraceContext | undefined {
  const [, version, trace, parent, flags = '', more] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return undefined
  const known = (Number.parseInt(flags, 16) & KNOWN_FLAGS).toString(16).padStart(2, '0')
  const state = checkedState(tracestate)
  return {
    traceparent: `00-${trace}-${parent}-${known}`,
    ...(state !== undefined && { tracestate: state }),
  }
}

/** Returns the context of work that this context caused: the same trace with a new parent id. */
export function childTrace(
  { traceparent, ...state }: TraceContext,
  randomBytes: RandomBytes,
): TraceContext {
  const parent = Array.from(randomBytes(8), (byte) => byte.toString(16).padStart(2, '0')).join('')
  return {
    traceparent: `00-${traceIdOf({ traceparent })}-${parent}-${traceparent.slice(-2)}`,
    ...state,
  }
}

export const traceIdOf = ({ traceparent }: TraceContext): string =>
  traceparent.slice('00-'.length, '00-'.length + 32)

const MAX_STATE_LENGTH = 512
const MAX_STATE_MEMBERS = 32
const STATE_MEMBER =
  /^(?<key>[a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Returns the whole state, or undefined if it is malformed (§3.3). */
function checkedState(text: string): string | undefined {
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const keys = members.map((member) => STATE_MEMBER.exec(member)?.groups?.['key'])
  const isValid =
    !keys.includes(undefined) &&
    new Set(keys).size === keys.length &&
    keys.length <= MAX_STATE_MEMBERS
  const state = members.join(',')
  return isValid && state !== '' && state.length <= MAX_STATE_LENGTH ? state : undefined
}
