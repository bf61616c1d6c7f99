import { isSecret } from '@org/agent-messaging-core/runtime'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { OperatorError } from '../operator-error.js'
import { fileOrStdin } from './options.js'

export type SecretOptions = { readonly secret?: string; readonly secretFile?: string }

/**
 * Adds --secret and --secret-file. Other users of the machine can see a command line, and the
 * shell stores it, so a file is safer.
 */
export const withSecret = (command: Command, about: string): Command =>
  command
    .addOption(new Option('--secret <secret>', about).conflicts('secretFile'))
    .addOption(
      new Option('--secret-file <file>', 'file that contains the secret, - for stdin').argParser(
        secretIn,
      ),
    )

/**
 * The secret from the options, or else from WEBHOOK_SECRET.
 * Throws for an empty or malformed secret, because an attacker can sign with an empty key.
 */
export function secretOf({ secret, secretFile }: SecretOptions) {
  const given = secret ?? secretFile ?? process.env['WEBHOOK_SECRET']
  if (given === undefined || isSecret(given)) return given
  const problem = given === '' ? 'is empty' : 'is malformed'
  throw new OperatorError(
    `the webhook secret ${problem}; use the whsec_… secret that the service returned`,
    2,
  )
}

export function requireSecret(options: SecretOptions) {
  const secret = secretOf(options)
  if (secret !== undefined) return secret
  throw new OperatorError(
    'a webhook secret is required; use --secret-file or --secret, or set WEBHOOK_SECRET',
    2,
  )
}

/** Reads a secret from a file, - for stdin. */
export function secretIn(file: string) {
  const secret = fileOrStdin(file).toString().trim()
  if (secret !== '') return secret
  throw new InvalidArgumentError('The file is empty.')
}
