import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The version that npm knows. */
export const packageVersion = manifest.version

/** The version of this package. Says so before the first release. */
export const version = packageVersion === '0.0.0' ? '0.0.0-unreleased' : packageVersion
