import { err, ok } from 'neverthrow'
import { customHeadersProblem, type CustomHeaders } from '../domain/webhooks/custom-headers.js'
import { broken, invalid } from '../domain/values/input-rules.js'
import { rulesOf } from '../domain/values/setting.js'
import {
  HEADER_LIMITS,
  webhookHeadersContext,
  webhookSettings,
  type WebhookChanges,
} from '../domain/webhooks/webhook.js'
import { filterRules } from '../domain/webhooks/webhook-filter.js'
import type { Platform } from '../platform.js'

export type WebhookChecks = Pick<Platform, 'checkMasterKey' | 'policy' | 'sender' | 'storage'>

/** Checks the fields that are given. */
export async function checkWebhook(d: WebhookChecks, projectId: string, settings: WebhookChanges) {
  const { url, filter, headers } = settings
  const problem = broken({
    ...rulesOf(webhookSettings, settings),
    ...(filter && filterRules(filter)),
  })
  if (problem) return problem
  const misfit =
    headers &&
    customHeadersProblem(headers, { ...HEADER_LIMITS, headerPrefix: d.policy.headerPrefix })
  if (misfit) return invalid(misfit.path, misfit.message)
  if (url !== undefined) {
    const vetted = await d.sender.vet(url)
    if (!vetted.ok) return invalid('url', vetted.error)
    if (!URL.canParse(url)) return invalid('url', 'must be a full URL')
  }
  const fits = await d.checkMasterKey()
  if (!fits.ok) return err(fits.error)
  const agentId = filter?.agentId
  if (agentId === undefined) return ok(undefined)
  const agent = await d.storage.agents.get(projectId, agentId)
  if (!agent.ok) return err(agent.error)
  return agent.value?.id === agentId
    ? ok(undefined)
    : invalid('filter.agentId', 'must be the id of an agent of this project')
}

/** Encrypts the headers. Returns null if there are none. */
export function sealedHeaders(
  { crypto }: Pick<Platform, 'crypto'>,
  webhookId: string,
  headers: CustomHeaders | null = null,
) {
  const names = Object.keys(headers ?? {})
  return names.length === 0
    ? null
    : { names, sealed: crypto.seal(JSON.stringify(headers), webhookHeadersContext(webhookId)) }
}
