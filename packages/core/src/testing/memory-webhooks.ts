import { changeWebhook, type Webhook } from '../domain/webhook.js'
import type { WebhookStore } from '../ports/webhook-store.js'
import { ofProject, resealRows, type Immediate, type Memory } from './memory.js'
import { newestFirst } from './memory-page.js'

export const memoryWebhooks = (memory: Memory): Immediate<WebhookStore> => ({
  create(webhook, limit) {
    if (memory.webhooks.has(webhook.id)) return 'created'
    if (webhooksOf(memory, webhook.projectId).length >= limit) return 'limit_reached'
    memory.webhooks.set(webhook.id, webhook)
    return 'created'
  },

  get: (projectId, id) => ofProject(memory.webhooks.get(id), projectId),
  list: (projectId, page) => newestFirst(webhooksOf(memory, projectId), page),

  update(projectId, id, change) {
    const webhook = ofProject(memory.webhooks.get(id), projectId)
    if (!webhook) return undefined
    const changed = changeWebhook(webhook, change)
    memory.webhooks.set(id, changed)
    return changed
  },

  rotateSecret(projectId, id, { secret, previousUntil, updatedAt }) {
    const webhook = ofProject(memory.webhooks.get(id), projectId)
    if (!webhook) return undefined
    const rotated = {
      ...webhook,
      secret,
      previousSecret: { secret: webhook.secret, until: previousUntil },
      updatedAt,
    }
    memory.webhooks.set(id, rotated)
    return rotated
  },

  delete: (projectId, id) =>
    ofProject(memory.webhooks.get(id), projectId) !== undefined && memory.webhooks.delete(id),
  reseal: (step) => resealRows(memory.webhooks, step),
})

const webhooksOf = (memory: Memory, projectId: string): Webhook[] =>
  [...memory.webhooks.values()].filter((webhook) => webhook.projectId === projectId)
