import { checkSupport } from '../shared/check-support.mjs'

await checkSupport(import.meta.dirname, 'chat/completions')
