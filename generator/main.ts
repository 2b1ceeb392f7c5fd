#!/usr/bin/env node
import { runMain } from 'citty';
import { generatorCommand } from './commands/index.ts';

await runMain(generatorCommand);
