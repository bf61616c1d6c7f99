import { beginningOf } from '@org/agent-messaging-core/runtime'
import type { Remote } from './a2a-client.js'

const MAX_LENGTH = 1_000

/** What went wrong, as it may be stored and told to callers: in few words, and in none that are secret, even if the agent sends them back. */
export function tellable(text: string, { headers }: Pick<Remote, 'headers'>): string {
  const discreet = secretsIn(headers).reduce((said, secret) => said.replaceAll(secret, '***'), text)
  return beginningOf(discreet, MAX_LENGTH).replace(/\0|\p{Surrogate}/gu, '\uFFFD')
}

/** The values, with and without a scheme such as `Bearer`. */
const secretsIn = (headers: Remote['headers']): string[] =>
  Object.values(headers)
    .flatMap((value) => [value, value.replace(/^\w+ (?=\S{8,}$)/, '')])
    .filter((secret) => secret !== '')
