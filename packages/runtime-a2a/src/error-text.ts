import { beginningOf } from '@org/agent-messaging-core/runtime'
import type { Remote } from './remote.js'

const MAX_LENGTH = 1_000

/** Describes an error of the agent and its cause. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}

/** Masks the secret headers, shortens the text, and replaces characters that cannot be stored. */
export function safeText(text: string, { headers }: Pick<Remote, 'headers'>): string {
  const masked = secretsIn(headers).reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  return beginningOf(masked, MAX_LENGTH).replace(/\0|\p{Surrogate}/gu, '\uFFFD')
}

/** The header values, with and without a scheme such as `Bearer`. */
const secretsIn = (headers: Remote['headers']): string[] =>
  Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S{8,}$)/, '')])
    .filter((secret) => secret !== '')
