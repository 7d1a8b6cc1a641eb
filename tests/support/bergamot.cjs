// Translates lines of standard input by Marian's WebAssembly: node bergamot.cjs PACKAGE FOLDER MODEL
const fs = require('node:fs'), path = require('node:path');
const [packageFolder, folder, model] = process.argv.slice(2);
const worker = path.join(packageFolder, 'worker');
const GEMM = {
  int8_prepare_a: 'int8PrepareAFallback', int8_prepare_b: 'int8PrepareBFallback',
  int8_prepare_b_from_transposed: 'int8PrepareBFromTransposedFallback',
  int8_prepare_b_from_quantized_transposed: 'int8PrepareBFromQuantizedTransposedFallback',
  int8_prepare_bias: 'int8PrepareBiasFallback', int8_multiply_and_add_bias: 'int8MultiplyAndAddBiasFallback',
  int8_select_columns_of_b: 'int8SelectColumnsOfBFallback',
};
const code = fs.readFileSync(path.join(worker, 'bergamot-translator-worker.js'), 'utf-8');
const lines = fs.readFileSync(0, 'utf-8').split('\n').slice(0, -1);
global.self = global; global.__filename = path.join(worker, 'x.js'); global.__dirname = worker; global.require = require;
global.Module = {
  instantiateWasm(info, accept) {
    const gemm = Object.fromEntries(Object.entries(GEMM).map(([k, v]) => [k, (...a) => Module.asm[v](...a)]));
    WebAssembly.instantiate(fs.readFileSync(path.join(worker, 'bergamot-translator-worker.wasm')), {...info, wasm_gemm: gemm})
      .then(({instance}) => accept(instance));
    return {};
  },
  onRuntimeInitialized() {
    const memory = (name, aligned) => {
      const bytes = name ? fs.readFileSync(path.join(folder, name)) : Buffer.alloc(0);
      const made = new Module.AlignedMemory(bytes.length, aligned);
      made.getByteArrayView().set(bytes);
      return made;
    };
    const vocabularies = new Module.AlignedMemoryList();
    vocabularies.push_back(memory('vocab.spm', 64));
    const config = fs.readFileSync(path.join(folder, 'config.yml'), 'utf-8');
    const translator = new Module.TranslationModel(config, memory(model, 256), memory(null, 64), vocabularies, null);
    const service = new Module.BlockingService({cacheSize: 0});
    for (const line of lines) {
      const input = new Module.VectorString(), options = new Module.VectorResponseOptions();
      input.push_back(line);
      options.push_back({qualityScores: false, alignment: false, html: false});
      const found = service.translate(translator, input, options);
      console.log(found.get(0).getTranslatedText());
    }
  },
};
(0, eval)(code);
