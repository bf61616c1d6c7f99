import type { Webhook } from '@org/agent-messaging-core'
import { BASE } from '../options.js'

type NameProps = { readonly webhook: Pick<Webhook, 'id' | 'url' | 'description'> | undefined }

/** Links to a webhook by its description, with the URL below. Without a description by its URL. */
export function WebhookName({ webhook }: NameProps) {
  if (!webhook) return <span class="muted">deleted, or a push config</span>
  const { id, url, description } = webhook
  const path = `${BASE}/webhooks/${id}`
  return description === undefined ? (
    <a class="url" href={path}>
      {url}
    </a>
  ) : (
    <span class="named">
      <a href={path}>{description}</a>
      <span class="url muted small">{url}</span>
    </span>
  )
}

/** The name of a webhook where only plain text fits. */
export const webhookLabel = ({ url, description }: Pick<Webhook, 'url' | 'description'>): string =>
  description === undefined ? url : `${description} (${url})`
