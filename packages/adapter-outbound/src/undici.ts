// Bun replaces the import `undici` by its own, which has no `Client`, and runs this file of undici.
export { buildConnector, Client, errors, type Dispatcher } from 'undici/index.js'
