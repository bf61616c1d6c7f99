import { isSecret } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { fileOrStdin } from './options.js'

export type SecretOptions = { readonly secret?: string; readonly secretFile?: string }

/** What is on a command line, everybody on the machine can read, and the shell keeps: so there are other ways to give a secret. */
export const withSecret = (command: Command, about: string): Command =>
  command
    .addOption(new Option('--secret <secret>', about).conflicts('secretFile'))
    .addOption(
      new Option('--secret-file <file>', 'a file that holds it, - for stdin').argParser(secretIn),
    )

/**
 * Returns the secret of the options, or else WEBHOOK_SECRET. An empty or malformed secret is an error, because anybody
 * can sign with an empty key.
 */
export function secretOf({ secret, secretFile }: SecretOptions): string | undefined {
  const given = secret ?? secretFile ?? process.env['WEBHOOK_SECRET']
  if (given === undefined || isSecret(given)) return given
  const reason = given === '' ? 'is empty' : 'is malformed'
  throw new OperatorError(`the secret ${reason}: give whsec_… as the service showed it`, 2)
}

export function requireSecret(options: SecretOptions): string {
  const secret = secretOf(options)
  if (secret !== undefined) return secret
  throw new OperatorError(
    'there is no secret to check with: give --secret-file or --secret, or set WEBHOOK_SECRET',
    2,
  )
}

function secretIn(file: string): string {
  const secret = fileOrStdin(file).toString().trim()
  if (secret !== '') return secret
  throw new InvalidArgumentError('There is nothing in it.')
}
