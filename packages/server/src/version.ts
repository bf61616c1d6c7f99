import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The version of this package. Says so before the first release. */
export const version = manifest.version === '0.0.0' ? '0.0.0-unreleased' : manifest.version
