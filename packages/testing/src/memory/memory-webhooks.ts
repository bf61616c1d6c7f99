import type { AuditEntry, Webhook, Page } from '@org/agent-messaging-core'
import {
  decideHook,
  isHook,
  changeWebhook,
  type HookOfMessage,
  type WebhookChange,
  type PageOf,
  type ResealedRows,
  type ResealStep,
  type MessageRef,
  type HookSet,
  type WebhookStore,
} from '@org/agent-messaging-core/storage'
import { ofProject, resealRows, type Immediate, type Memory } from './memory.js'
import { recorded } from './memory-audit.js'
import { newestFirst } from './memory-page.js'
import { addHook, deleteHooks, withHealth } from './memory-outbox.js'

export class MemoryWebhooks implements Immediate<WebhookStore> {
  readonly #memory: Memory
  readonly #webhooks: Memory['webhooks']

  constructor(memory: Memory) {
    this.#memory = memory
    this.#webhooks = memory.webhooks
  }

  create(webhook: Webhook, limit: number, audit?: AuditEntry): 'created' | 'limit_reached' {
    if (this.#webhooks.has(webhook.id)) return 'created'
    if (this.#webhooksOf(webhook.projectId).length >= limit) return 'limit_reached'
    this.#webhooks.set(webhook.id, webhook)
    return recorded(this.#memory, audit, 'created', webhook)
  }

  get(projectId: string, id: string): Webhook | undefined {
    const webhook = ofProject(this.#webhooks.get(id), projectId)
    return webhook && isHook(webhook) ? undefined : webhook
  }

  list(projectId: string, page: PageOf): Page<Webhook> {
    return newestFirst(this.#webhooksOf(projectId), page)
  }

  update(
    projectId: string,
    id: string,
    change: WebhookChange,
    audit?: AuditEntry,
  ): Webhook | undefined {
    const webhook = this.get(projectId, id)
    if (!webhook) return undefined
    const changed = this.#save(changeWebhook(webhook, change))
    return recorded(this.#memory, audit, changed, changed, webhook)
  }

  delete(projectId: string, id: string, audit?: AuditEntry): boolean {
    const webhook = this.get(projectId, id)
    const deleted = webhook !== undefined && this.#webhooks.delete(id)
    return recorded(this.#memory, audit, deleted, webhook)
  }

  setHook(hook: HookOfMessage, agentId: string, limit: number): HookSet {
    const ref = { projectId: hook.projectId, agentId, messageId: hook.hook.messageId }
    if (!this.#hasMessage(ref)) return 'message_not_found'
    const hooks = this.hooksOf(ref).map(({ id, hook: { name } }) => ({
      id,
      name,
      isDeleted: false,
    }))
    const decided = decideHook(hooks, hook, limit)
    if (decided !== 'insert' && decided !== 'update') return decided
    addHook(this.#memory, hook)
    return 'set'
  }

  hooksOf(ref: MessageRef): HookOfMessage[] {
    if (!this.#hasMessage(ref)) return []
    return [...this.#webhooks.values()]
      .filter(isHook)
      .filter(({ hook }) => hook.messageId === ref.messageId)
      .map((hook) => withHealth(this.#memory, hook))
  }

  deleteHook(ref: MessageRef, name: string): boolean {
    const found = this.hooksOf(ref).find(({ hook }) => hook.name === name)
    if (found) deleteHooks(this.#memory, ({ id }) => id === found.id)
    return found !== undefined
  }

  #hasMessage({ projectId, agentId, messageId }: MessageRef): boolean {
    const message = this.#memory.messages.get(messageId)?.message
    return message?.projectId === projectId && message.agentId === agentId
  }

  reseal(step: ResealStep<Webhook>): ResealedRows {
    return resealRows(this.#webhooks, step)
  }

  #webhooksOf(projectId: string): Webhook[] {
    return [...this.#webhooks.values()].filter(
      (webhook) => webhook.projectId === projectId && !isHook(webhook),
    )
  }

  #save(webhook: Webhook): Webhook {
    this.#webhooks.set(webhook.id, webhook)
    return webhook
  }
}
