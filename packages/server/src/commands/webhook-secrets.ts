import type { Command } from 'commander'
import { onBackend, type Backend } from './backend.js'
import { orRefusal } from './client-error.js'
import { given } from './given.js'
import { duration, example, withBackend, type BackendOptions } from './options.js'
import { print } from './output.js'
import { withSecret, type SecretOptions } from './secret.js'

type RotateOptions = BackendOptions & SecretOptions & { readonly grace?: number }

const ID = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
export const SECRET =
  'your own secret: whsec_ and 24 to 64 bytes as base64 (default: a random secret)'

export function addRotate(webhooks: Command): void {
  withSecret(withBackend(webhooks.command('rotate <id>')), SECRET)
    .description('replace the secret of a webhook and print the new one once')
    .option(
      '--grace <duration>',
      'how long the old secret also signs, such as 1h or 0s (default: 24h)',
      duration,
    )
    .addHelpText(
      'after',
      example(
        `agent-messaging webhooks rotate ${ID}`,
        `agent-messaging webhooks rotate ${ID} --grace 0s`,
      ),
    )
    .action((id: string, options: RotateOptions) =>
      onBackend(options, (backend) => rotate(backend, id, options)),
    )
}

async function rotate(
  { client }: Backend,
  id: string,
  { json, secret, secretFile, grace }: RotateOptions,
): Promise<void> {
  const rotated = await orRefusal(
    client.webhooks.rotateSecret(id, given({ secret: secret ?? secretFile, graceMs: grace })),
    `cannot rotate the secret of webhook ${id}`,
  )
  const until = rotated.previousSecretUntil
  const note = until === undefined ? '' : ` The old secret also signs until ${until}.`
  print(json, rotated, `Rotated the secret of webhook ${id}.${note} ${shownOnce(rotated.secret)}`)
}

export function addFinishRotation(webhooks: Command): void {
  withBackend(webhooks.command('finish-rotation <id>'))
    .description('stop signing with the old secret now')
    .addHelpText('after', example(`agent-messaging webhooks finish-rotation ${ID}`))
    .action((id: string, options: BackendOptions) =>
      onBackend(options, async ({ client }) => {
        const webhook = await orRefusal(
          client.webhooks.finishRotation(id),
          `cannot finish the rotation of webhook ${id}`,
        )
        print(options.json, webhook, 'Only the new secret signs from now on.')
      }),
    )
}

export const shownOnce = (secret: string): string =>
  `Its secret is:\n\n${secret}\n\nStore the secret now. The server does not show it again.`
