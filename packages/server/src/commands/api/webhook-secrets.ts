import { given } from '@org/agent-messaging-core/runtime'
import type { Command } from 'commander'
import type { Backend } from '../backend.js'
import { addApiCommand, ID } from '../command.js'
import { duration, type BackendOptions } from '../options.js'
import { withSecret, type SecretOptions } from '../secret.js'

type RotateOptions = BackendOptions & SecretOptions & { readonly grace?: number }

export const SECRET =
  'your own secret: whsec_ and 24 to 64 bytes as base64 (default: a random secret)'

export function addRotate(webhooks: Command): void {
  const rotate = addApiCommand(webhooks, 'rotate <id>', {
    about: 'replace the secret of a webhook and print the new one once',
    examples: [
      `agent-messaging webhooks rotate ${ID}`,
      `agent-messaging webhooks rotate ${ID} --grace 0s`,
    ],
    thing: (id) => `the secret of webhook ${id}`,
    call: ({ client, options }: Backend & { options: RotateOptions }, id) => {
      const { secret, secretFile, grace } = options
      return client.webhooks.rotateSecret(
        id,
        given({ secret: secret ?? secretFile, graceMs: grace }),
      )
    },
    text: ({ previousSecretUntil: until, secret }, id) => {
      const note = until === undefined ? '' : ` The old secret also signs until ${until}.`
      return `Rotated the secret of webhook ${id}.${note} ${shownOnce(secret)}`
    },
  })
  withSecret(rotate, SECRET).option(
    '--grace <duration>',
    'how long the old secret also signs, such as 1h or 0s (default: 24h)',
    duration,
  )
}

export const addFinishRotation = (webhooks: Command): Command =>
  addApiCommand(webhooks, 'finish-rotation <id>', {
    about: 'stop signing with the old secret now',
    verb: 'finish',
    thing: (id) => `the rotation of webhook ${id}`,
    call: ({ client }, id) => client.webhooks.finishRotation(id),
    text: () => 'Only the new secret signs from now on.',
  })

export const shownOnce = (secret: string): string =>
  `Its secret is:\n\n${secret}\n\nStore the secret now. The server does not show it again.`
