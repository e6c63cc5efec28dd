#include <opencv2/imgproc.hpp>

#include "stencil_peers.hpp"

namespace tessera::bench {

std::function<void()> opencv_box(const float* in, float* out, int n, int size, int threads) {
  cv::setNumThreads(threads);
  return [=] {
    const cv::Mat from(n, n, CV_32F, const_cast<float*>(in));
    cv::Mat to(n, n, CV_32F, out);
    cv::blur(from, to, cv::Size(size, size), cv::Point(-1, -1), cv::BORDER_REPLICATE);
  };
}

}  // namespace tessera::bench
