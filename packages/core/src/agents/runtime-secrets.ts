import { runtimeSecretsContext, type Agent } from '../domain/agent.js'
import { isJsonObject, type JsonObject } from '../domain/json.js'
import type { Crypto } from '../ports/platform.js'

/** What an agent's runtime keeps secret; undefined when it was sealed with another master key. */
export function runtimeSecrets(crypto: Crypto, { id, runtime }: Agent): JsonObject | undefined {
  if (runtime.secrets === undefined) return {}
  const text = crypto.unseal(runtime.secrets, runtimeSecretsContext(id))
  const secrets: unknown = text === undefined ? undefined : JSON.parse(text)
  return isJsonObject(secrets) ? secrets : undefined
}
