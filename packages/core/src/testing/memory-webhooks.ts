import { changeWebhook, type Webhook, type WebhookChange } from '../domain/webhook.js'
import type { Page, PageOf, ResealedRows, ResealStep } from '../ports/stored.js'
import type { SecretRotation, WebhookStore } from '../ports/webhook-store.js'
import { ofProject, resealRows, type Immediate, type Memory } from './memory.js'
import { newestFirst } from './memory-page.js'

export class MemoryWebhooks implements Immediate<WebhookStore> {
  readonly #webhooks: Memory['webhooks']

  constructor({ webhooks }: Memory) {
    this.#webhooks = webhooks
  }

  create(webhook: Webhook, limit: number): 'created' | 'limit_reached' {
    if (this.#webhooks.has(webhook.id)) return 'created'
    if (this.#webhooksOf(webhook.projectId).length >= limit) return 'limit_reached'
    this.#webhooks.set(webhook.id, webhook)
    return 'created'
  }

  get(projectId: string, id: string): Webhook | undefined {
    return ofProject(this.#webhooks.get(id), projectId)
  }

  list(projectId: string, page: PageOf): Page<Webhook> {
    return newestFirst(this.#webhooksOf(projectId), page)
  }

  update(projectId: string, id: string, change: WebhookChange): Webhook | undefined {
    const webhook = this.get(projectId, id)
    return webhook && this.#save(changeWebhook(webhook, change))
  }

  rotateSecret(
    projectId: string,
    id: string,
    { secret, previousUntil, updatedAt }: SecretRotation,
  ): Webhook | undefined {
    const webhook = this.get(projectId, id)
    if (!webhook) return undefined
    const previousSecret = { secret: webhook.secret, until: previousUntil }
    return this.#save({ ...webhook, secret, previousSecret, updatedAt })
  }

  delete(projectId: string, id: string): boolean {
    return this.get(projectId, id) !== undefined && this.#webhooks.delete(id)
  }

  reseal(step: ResealStep<Webhook>): ResealedRows {
    return resealRows(this.#webhooks, step)
  }

  #webhooksOf(projectId: string): Webhook[] {
    return [...this.#webhooks.values()].filter((webhook) => webhook.projectId === projectId)
  }

  #save(webhook: Webhook): Webhook {
    this.#webhooks.set(webhook.id, webhook)
    return webhook
  }
}
