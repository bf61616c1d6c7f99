import type { JsonObject } from '@org/agent-messaging-core'
import {
  failedRun,
  failure,
  success,
  type AgentRuntime,
  type RunningAgent,
} from '@org/agent-messaging-core/runtime'

/** Answers a message with its translation. Agents of this kind have the options `to` and `key`. */
export const translatorRuntime = (baseUrl: string): AgentRuntime => ({
  kind: 'translator',
  signsRequests: false,
  // The service encrypts `secrets` and never shows them.
  parseOptions: async ({ to, key, ...rest }) => {
    const stray = Object.keys(rest)[0]
    if (stray !== undefined) return failure(`${stray} is not an option of translator agents`)
    if (typeof to !== 'string') return failure('to is required: a language, such as de')
    if (typeof key !== 'string') return failure('key is required: the API key of the translator')
    return success({ options: { to }, secrets: { authorization: `Bearer ${key}` } })
  },
  start: async ({ agent, secrets }) => success(translator(baseUrl, agent.runtime.options, secrets)),
})

const translator = (baseUrl: string, options: JsonObject, secrets: JsonObject): RunningAgent => ({
  run: async ({ message }, signal) => {
    try {
      const response = await fetch(`${baseUrl}/translate`, {
        method: 'POST',
        headers: { ...secrets, 'content-type': 'application/json' },
        body: JSON.stringify({ ...options, text: message }),
        signal, // aborts at the deadline, at a cancel and at a stop
      })
      if (response.ok) return { kind: 'answered', response: await response.text() }
      const isTemporary = response.status === 429 || response.status >= 500
      return failedRun('RUNTIME_ERROR', `the translator answered ${response.status}`, isTemporary)
    } catch (error) {
      return failedRun('RUNTIME_ERROR', `the translator is away: ${String(error)}`, true)
    }
  },
  health: async (signal) => {
    const answer = await fetch(baseUrl, { signal }).catch(() => undefined)
    return answer ? { ok: true } : { ok: false, detail: 'the translator does not answer' }
  },
  stop: async () => undefined, // leaves no process, socket or timer behind
})
